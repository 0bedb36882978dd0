//! `gatehouse product show`.

use clap::Args;

use super::COLUMNS;
use crate::client::api::TenantArgs;
use crate::failure::Failure;
use crate::terminal::output::show_one;

/// Show one connection
#[derive(Args)]
pub(crate) struct Show {
    /// ID of the connection: PLATFORM-…; `gatehouse product find` finds it by its numbers
    #[arg(value_name = "ID")]
    id: String,
}

impl Show {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let (server, format) = tenant_args.open().await?;
        let product = server.get(&["product", &self.id]).success().await?.body;
        show_one(format, COLUMNS, &product)
    }
}
