//! `gatehouse batch show`.

use clap::Args;

use super::report;
use super::task::{Task, TaskArg};
use crate::client::api::{TenantArgs, explained};
use crate::failure::Failure;
use crate::terminal::screen::harmless;

/// Show the progress of a batch, or its result
#[derive(Args)]
pub(crate) struct Show {
    #[command(flatten)]
    task: TaskArg,
}

impl Show {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let id = self.task.id()?;
        let (server, format) = tenant_args.open().await?;
        let task = Task::fetch(&server, &id).await?;
        report::show(&server, format, &task, None).await?;
        if let Some(error) = task.errors.first() {
            eprintln!("{}", harmless(&explained(error)));
        }
        Ok(())
    }
}
