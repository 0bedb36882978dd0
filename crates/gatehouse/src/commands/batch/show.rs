//! `gatehouse batch show`.

use clap::Args;

use super::report;
use super::task::{Named, Task};
use crate::client::api::{Tenancy, explained};
use crate::failure::Failure;
use crate::terminal::screen::harmless;

/// Show how far a batch is, or what came of it
#[derive(Args)]
pub(crate) struct Show {
    #[command(flatten)]
    named: Named,
}

impl Show {
    pub(crate) async fn run(self, tenancy: &Tenancy) -> Result<(), Failure> {
        let id = self.named.id()?;
        let (server, form) = tenancy.open().await?;
        let task = Task::look(&server, &id).await?;
        report::show(&server, form, &task, None).await?;
        if let Some(error) = task.errors.first() {
            eprintln!("{}", harmless(&explained(error)));
        }
        Ok(())
    }
}
