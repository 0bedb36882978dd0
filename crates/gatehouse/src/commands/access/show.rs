//! `gatehouse access show`.

use clap::Args;

use super::COLUMNS;
use super::chosen::Chosen;
use crate::client::api::Tenancy;
use crate::failure::Failure;
use crate::terminal::output::show_one;

/// Show one access
#[derive(Args)]
pub(crate) struct Show {
    #[command(flatten)]
    chosen: Chosen,
}

impl Show {
    pub(crate) async fn run(self, tenancy: &Tenancy) -> Result<(), Failure> {
        let (server, form) = tenancy.open().await?;
        show_one(form, COLUMNS, &self.chosen.find(&server).await?)
    }
}
