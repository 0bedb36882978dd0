//! `gatehouse batch wait`, and the wait of other commands.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;

use super::export::Destination;
use super::report;
use super::task::{COLUMNS, Task, TaskArg};
use super::watch::{Ending, Interrupts, watch};
use crate::client::api::{TenantArgs, TenantServer};
use crate::failure::{Failure, FailureKind};
use crate::terminal::output::{OutputFormat, show_one};

/// Wait until a batch ends
///
/// Exits with 0 if every item succeeded, with 3 if some failed, with 6 if the batch was rejected.
#[derive(Args)]
pub(crate) struct Wait {
    #[command(flatten)]
    task: TaskArg,
    /// Write the accesses, with their passwords, to this file; `-` for standard output
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long, requires = "to")]
    force: bool,
}

impl Wait {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let id = self.task.id()?;
        let format = tenant_args.chosen_format()?;
        let destination = self.to.map(|to| Destination::new(Some(to), self.force, format));
        if let Some(destination) = &destination {
            destination.check()?;
        }
        let (server, format) = tenant_args.open().await?;
        follow(&server, format, &id, destination.as_ref(), None).await
    }
}

/// Follows an accepted batch: waits for it, or shows the command for that.
pub(crate) async fn follow_accepted(
    server: &TenantServer,
    format: OutputFormat,
    task: &Task,
    waits: bool,
    destination: Option<&Destination>,
) -> Result<(), Failure> {
    let id = &task.id;
    if waits {
        // Printed first, so that the batch can be found again if the terminal goes away.
        eprintln!("{id} is accepted");
        return follow(server, format, id, destination, Some(Instant::now())).await;
    }
    show_one(format, COLUMNS, &task.shown(None))?;
    if format == OutputFormat::Table {
        let [wait, export] =
            ["wait", "export"].map(|verb| server.command(&format!("batch {verb} {id}")));
        match destination {
            Some(_) => {
                eprintln!("`{wait}` waits for it, `{export}` writes the credentials to a file")
            }
            None => eprintln!("`{wait}` waits for it"),
        }
    }
    Ok(())
}

/// Waits for a Task, writes its accesses to the destination, and shows the result. `since` is when the server last
/// responded.
async fn follow(
    server: &TenantServer,
    format: OutputFormat,
    id: &str,
    destination: Option<&Destination>,
    since: Option<Instant>,
) -> Result<(), Failure> {
    let mut resume = format!("batch wait {id}");
    if let Some(destination) = destination {
        resume += &destination.flags(id);
    }
    let resume = server.command(&resume);
    let mut interrupts = Interrupts::catch()?;
    let (task, was_stopped) = match watch(server, id, &resume, since, &mut interrupts).await? {
        Ending::Ended(task) => (task, false),
        Ending::Stopped(task) => (task, true),
    };
    let finish = async {
        let file = match destination {
            Some(destination) if task.progress.succeeded > 0 => {
                Some(write_accesses(server, &task, destination).await?)
            }
            _ => None,
        };
        report::show(server, format, &task, file.as_deref()).await
    };
    interrupts.or(finish).await.map_err(|why| match why.kind {
        FailureKind::Interrupted => {
            let [show, export] =
                ["show", "export"].map(|verb| server.command(&format!("batch {verb} {id}")));
            why.advise(format!("`{show}` shows the result, `{export}` fetches the credentials"))
        }
        _ => why,
    })?;
    let result = task.exit_result(server);
    if was_stopped { result.map_err(|why| why.of_kind(FailureKind::Interrupted)) } else { result }
}

/// Writes the accesses. If that fails, the advice says how to fetch them again.
async fn write_accesses(
    server: &TenantServer,
    task: &Task,
    destination: &Destination,
) -> Result<PathBuf, Failure> {
    let written = destination.write(server, task).await;
    written.map_err(|why| {
        if why.kind == FailureKind::NoReader {
            return why;
        }
        let export = server.command(&format!("batch export {} --to FILE", task.id));
        // The batch itself has succeeded.
        why.of_kind(FailureKind::Partial)
            .advise(format!("nothing is lost: `{export}` fetches the credentials again"))
    })?;
    Ok(destination.path(&task.id))
}
