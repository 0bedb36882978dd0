//! `gatehouse access show`.

use clap::Args;

use super::COLUMNS;
use super::selection::AccessSelection;
use crate::client::api::TenantArgs;
use crate::failure::Failure;
use crate::terminal::output::show_one;

/// Show one access
#[derive(Args)]
pub(crate) struct Show {
    #[command(flatten)]
    selection: AccessSelection,
}

impl Show {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let (server, format) = tenant_args.open().await?;
        show_one(format, COLUMNS, &self.selection.find(&server).await?)
    }
}
