//! `gatehouse event list`.

use clap::Args;

use super::columns::COLUMNS;
use super::conditions::Conditions;
use super::range::EventRange;
use crate::client::api::TenantArgs;
use crate::failure::Failure;

/// List what has changed, the oldest first
///
/// Times are like 2026-11-01, which is midnight UTC, or 2026-11-01T12:30:00+02:00.
#[derive(Args)]
#[command(after_help = "\
Examples:
  gatehouse event list --from 2026-11-01 --type AccessStateChangeEvent
  gatehouse event list --access 01a1dd4d-f036-7005-9379-54b08ec1966e
  gatehouse event list --after 4711 --limit 1000
  gatehouse event list --all --output csv > events.csv")]
pub(crate) struct List {
    #[command(flatten)]
    range: EventRange,
    #[command(flatten)]
    conditions: Conditions,
}

impl List {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let only_access = self.conditions.only_access()?;
        let parameters = self.conditions.parameters()?;
        let (server, format) = tenant_args.open().await?;
        let id = only_access.map(|id| id.shown().as_str().to_owned());
        let (path, parameters) = match &id {
            Some(id) => (vec![server.tenant.as_str(), "access", id, "event"], Vec::new()),
            None => (vec![server.tenant.as_str(), "event"], parameters),
        };
        self.range.show(&server.server, &path, &parameters, format, COLUMNS).await
    }
}
