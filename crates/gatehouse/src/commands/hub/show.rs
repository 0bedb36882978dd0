//! `gatehouse hub show`.

use clap::Args;

use super::COLUMNS;
use super::hub_id::HubArg;
use crate::client::api::TenantArgs;
use crate::failure::Failure;
use crate::terminal::output::show_one;

/// Show one hub, and how far it is
#[derive(Args)]
#[command(after_help = "\
Every event up to the position was delivered, waits for another attempt, or is
a dead letter. Missed events were deleted for their age before they were
delivered.")]
pub(crate) struct Show {
    #[command(flatten)]
    hub: HubArg,
}

impl Show {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let id = self.hub.id()?;
        let (server, format) = tenant_args.open().await?;
        show_one(format, COLUMNS, &server.get(&["hub", &id]).success().await?.body)
    }
}
