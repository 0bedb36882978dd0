//! `gatehouse batch list`.

use clap::Args;

use super::task::LIST_COLUMNS;
use crate::client::api::Tenancy;
use crate::client::paging::{Kind, Paging};
use crate::failure::Failure;

/// List batches, the newest first
#[derive(Args)]
pub(crate) struct List {
    #[command(flatten)]
    paging: Paging,
}

impl List {
    pub(crate) async fn run(self, tenancy: &Tenancy) -> Result<(), Failure> {
        let (server, form) = tenancy.open().await?;
        let kind = Kind { plural: "batches", columns: LIST_COLUMNS };
        self.paging.show(&server, &["access", "batch"], None, kind, form).await
    }
}
