//! `gatehouse audit list`: who changed the setup, and who was refused.

use clap::Args;
use clap::builder::PossibleValuesParser;
use gatehouse_core::event::EventType;

use super::columns::COLUMNS;
use crate::client::api::TenantArgs;
use crate::client::filter::encoded;
use crate::commands::event::range::EventRange;
use crate::failure::Failure;
use crate::terminal::output::OutputFormat;

/// List changes of the setup, tokens and refused requests, the oldest first
///
/// The token needs the scope `admin`. Times are like 2026-11-01, which is midnight UTC, or 2026-11-01T12:30:00+02:00.
#[derive(Args)]
#[command(after_help = "\
Examples:
  gatehouse audit list --from 2026-11-01 --type ContractAttributeValueChangeEvent
  gatehouse audit list --subject ann
  gatehouse audit list --estate --all --output csv > audit.csv")]
pub(crate) struct List {
    #[command(flatten)]
    tenant_args: TenantArgs,
    /// The audit of the whole estate, in place of a tenant's; the token must be for all tenants
    #[arg(long, conflicts_with = "tenant")]
    estate: bool,
    #[command(flatten)]
    range: EventRange,
    #[command(flatten)]
    conditions: Conditions,
}

/// Events to show; a flag that is missing selects all.
#[derive(Args)]
#[command(next_help_heading = "Filters")]
struct Conditions {
    /// Events of this type. Give it once for each type
    #[arg(long = "type", value_name = "TYPE",
          value_parser = PossibleValuesParser::new(EventType::AUDIT.map(EventType::as_str)))]
    types: Vec<String>,
    /// Events that requests with this subject's tokens have caused
    #[arg(long, value_name = "NAME")]
    subject: Option<String>,
    /// Of this time or later
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// From before this time
    #[arg(long, value_name = "TIME")]
    before: Option<String>,
}

impl Conditions {
    fn parameters(&self) -> Vec<String> {
        let types = Some(self.types.join(",")).filter(|it| !it.is_empty());
        let values = [
            ("eventType", types),
            ("subject", self.subject.clone()),
            ("from", self.from.clone()),
            ("before", self.before.clone()),
        ];
        let given = values.iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
        given.map(|(name, value)| format!("{name}={}", encoded(value))).collect()
    }
}

impl List {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let parameters = self.conditions.parameters();
        if self.estate {
            let server = self.tenant_args.server_args.open()?;
            let format = self.tenant_args.chosen_format()?.unwrap_or(OutputFormat::Table);
            let path = ["-", "admin", "audit"];
            return self.range.show(&server, &path, &parameters, format, COLUMNS).await;
        }
        let (server, format) = self.tenant_args.open().await?;
        let path = ["-", "admin", "tenants", server.tenant.as_str(), "audit"];
        self.range.show(&server.server, &path, &parameters, format, COLUMNS).await
    }
}
