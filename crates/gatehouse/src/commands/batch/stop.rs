//! `gatehouse batch stop`.

use clap::Args;
use reqwest::Method;

use super::report;
use super::task::{Named, Task};
use crate::client::api::Tenancy;
use crate::failure::Failure;
use crate::terminal::output::Form;

/// Stop a batch; what it has done stays
#[derive(Args)]
pub(crate) struct Stop {
    #[command(flatten)]
    named: Named,
}

impl Stop {
    pub(crate) async fn run(self, tenancy: &Tenancy) -> Result<(), Failure> {
        let id = self.named.id()?;
        let (server, form) = tenancy.open().await?;
        server.ask(Method::DELETE, &["access", "batch", &id]).success().await?;
        let task = Task::look(&server, &id).await?;
        report::show(&server, form, &task, None).await?;
        if form == Form::Table && task.progress.succeeded > 0 {
            let export = server.command(&format!("batch export {id}"));
            eprintln!("what it did stays; `{export}` writes it to a file");
        }
        Ok(())
    }
}
