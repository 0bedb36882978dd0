//! `gatehouse hub deliveries`.

use clap::Args;
use serde_json::Value;

use super::hub_id::HubArg;
use crate::client::api::TenantArgs;
use crate::failure::Failure;
use crate::terminal::output::{Column, Fit, Listing, OutputFormat, second, text};

/// Show the latest messages of a hub, at most 200, the newest first
#[derive(Args)]
#[command(after_help = "\
One line for each attempt: when the message was sent, the number of its first
event, how many events it has, the status of the response, the time until the
response in milliseconds, and why the message was not delivered.")]
pub(crate) struct Deliveries {
    #[command(flatten)]
    hub: HubArg,
}

const COLUMNS: &[Column] = &[
    Column::computed("SENT (UTC)", "sentAt", |it| second(&text(it, "sentAt")), Fit::Whole),
    Column::text("EVENT", "eventNumber", Fit::Whole),
    Column::text("EVENTS", "events", Fit::Whole),
    Column::text("STATUS", "status", Fit::Whole),
    Column::text("MS", "durationMilliseconds", Fit::Whole),
    Column::text("ERROR", "error", Fit::Cut(16)),
];

impl Deliveries {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let id = self.hub.id()?;
        let (server, format) = tenant_args.open().await?;
        let response = server.get(&["hub", &id, "delivery"]).success().await?;
        let Value::Array(messages) = response.body else {
            return Err(server.server.not_understood());
        };
        let mut listing = Listing::new(format, COLUMNS);
        listing.show(&messages)?;
        listing.finish()?;
        if messages.is_empty() && format == OutputFormat::Table {
            eprintln!("no deliveries");
        }
        Ok(())
    }
}
