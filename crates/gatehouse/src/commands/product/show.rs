//! `gatehouse product show`.

use clap::Args;

use super::COLUMNS;
use crate::client::api::Tenancy;
use crate::failure::Failure;
use crate::terminal::output::show_one;

/// Show one connection
#[derive(Args)]
pub(crate) struct Show {
    /// The connection, by its ID: PLATFORM-…; `gatehouse product find` finds it by its numbers
    #[arg(value_name = "ID")]
    id: String,
}

impl Show {
    pub(crate) async fn run(self, tenancy: &Tenancy) -> Result<(), Failure> {
        let (server, form) = tenancy.open().await?;
        let product = server.get(&["product", &self.id]).success().await?.body;
        show_one(form, COLUMNS, &product)
    }
}
