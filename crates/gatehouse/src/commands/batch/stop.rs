//! `gatehouse batch stop`.

use clap::Args;
use reqwest::Method;

use super::report;
use super::task::{Task, TaskArg};
use crate::client::api::TenantArgs;
use crate::failure::Failure;
use crate::terminal::output::OutputFormat;

/// Stop a batch; finished items stay
#[derive(Args)]
pub(crate) struct Stop {
    #[command(flatten)]
    task: TaskArg,
}

impl Stop {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let id = self.task.id()?;
        let (server, format) = tenant_args.open().await?;
        server.request(Method::DELETE, &["access", "batch", &id]).success().await?;
        let task = Task::fetch(&server, &id).await?;
        report::show(&server, format, &task, None).await?;
        if format == OutputFormat::Table && task.progress.succeeded > 0 {
            let export = server.command(&format!("batch export {id}"));
            eprintln!("what it did stays; `{export}` writes it to a file");
        }
        Ok(())
    }
}
