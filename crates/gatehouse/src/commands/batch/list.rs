//! `gatehouse batch list`.

use clap::Args;

use super::task::LIST_COLUMNS;
use crate::client::api::TenantArgs;
use crate::client::paging::{ListKind, Paging};
use crate::failure::Failure;

/// List batches, the newest first
#[derive(Args)]
pub(crate) struct List {
    #[command(flatten)]
    paging: Paging,
}

impl List {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let (server, format) = tenant_args.open().await?;
        let kind = ListKind { plural: "batches", columns: LIST_COLUMNS };
        self.paging.show(&server, &["access", "batch"], None, kind, format).await
    }
}
