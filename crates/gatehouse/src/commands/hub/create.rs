//! `gatehouse hub create`.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use gatehouse_core::event::EventType;
use gatehouse_core::hub::{EVENTS_AT_ONCE_MAX, HubQuery, MessageFormat};
use reqwest::Method;

use super::COLUMNS_WITH_SECRET;
use crate::client::api::{TenantArgs, object};
use crate::commands::event::conditions::{access_id, event_type};
use crate::failure::Failure;
use crate::terminal::output::{OutputFormat, show_one};

/// Subscribe an address to the events from now on, and show the secret once
#[derive(Args)]
#[command(after_help = "\
Each message is signed with the secret, as Standard Webhooks has it. To change
the callback or the conditions, create another hub and delete this one.
Examples:
  gatehouse hub create https://crm.example/events
  gatehouse hub create https://crm.example/events --type AccessStateChangeEvent
  gatehouse hub create https://crm.example/events --contract C-PAYG --batch 100
  gatehouse hub create https://crm.example/events --format cloudevents")]
pub(crate) struct Create {
    /// Address that events are sent to: https, and public unless the server's settings allow its network
    #[arg(value_name = "CALLBACK")]
    callback: String,
    /// Form of a message: an event as the API shows it, a CloudEvent, or a CloudEvent whose attributes are headers
    #[arg(long, value_name = "FORMAT", default_value = MessageFormat::Tmf.as_str(), value_parser = message_format())]
    format: MessageFormat,
    /// Send up to so many events in a message, as a list [default: one event, not in a list]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=EVENTS_AT_ONCE_MAX))]
    batch: Option<u64>,
    #[command(flatten)]
    conditions: Conditions,
}

/// Events to send; a flag that is missing selects all.
#[derive(Args)]
#[command(next_help_heading = "Filters")]
struct Conditions {
    /// Events of these types, separated by commas
    #[arg(long = "type", value_name = "TYPE", ignore_case = true, value_delimiter = ',',
          value_parser = PossibleValuesParser::new(EventType::CHANGES.map(EventType::as_str)))]
    types: Vec<String>,
    /// Events of the access with this ID
    #[arg(long, value_name = "ID")]
    access: Option<String>,
    /// Events of accesses of this contract
    #[arg(long, value_name = "ID")]
    contract: Option<String>,
}

impl Create {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let query = self.query()?;
        let (server, format) = tenant_args.open().await?;
        // A query without conditions is left out.
        let query = Some(query.to_string()).filter(|it| !it.is_empty());
        let body = object([("callback", Some(self.callback)), ("query", query)]);
        let hub = server.request(Method::POST, &["hub"]).body(body).success().await?.body;
        show_one(format, COLUMNS_WITH_SECRET, &hub)?;
        if format == OutputFormat::Table {
            eprintln!("the secret is shown only now");
        }
        Ok(())
    }

    fn query(&self) -> Result<HubQuery, Failure> {
        if self.batch.is_some() && self.format == MessageFormat::CloudEventsBinary {
            return Err(Failure::input(format!(
                "--batch can't be combined with --format {}, whose messages have one event",
                self.format.as_str()
            ))
            .advise(format!("`--format {}` has lists", MessageFormat::CloudEvents.as_str())));
        }
        let Conditions { types, access, contract } = &self.conditions;
        let contract = contract.as_deref().map(|given| {
            let bad = |bad| Failure::input(format!("--contract: `{given}` {bad}"));
            given.parse().map_err(bad)
        });
        Ok(HubQuery {
            types: types.iter().filter_map(|word| event_type(word)).collect(),
            access: access.as_deref().map(access_id).transpose()?,
            contract: contract.transpose()?,
            format: self.format,
            batch: self.batch,
        })
    }
}

fn message_format() -> impl TypedValueParser<Value = MessageFormat> {
    let known = PossibleValuesParser::new(MessageFormat::ALL.map(MessageFormat::as_str));
    known.map(|word| {
        let format = MessageFormat::ALL.into_iter().find(|it| it.as_str() == word);
        format.unwrap_or_default()
    })
}
