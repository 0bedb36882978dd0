//! `gatehouse batch wait`, and what every command does that waits.

use std::path::PathBuf;

use clap::Args;

use super::export::Destination;
use super::report;
use super::task::{Named, Task};
use super::watch::{Ending, Interrupts, watch};
use crate::api::{Tenancy, TenantServer};
use crate::failure::{Failure, Kind};
use crate::output::Form;

/// Wait until a batch is over
///
/// Ends with 0 when all of it is done, with 3 when some of it is not, with 6 when it was rejected.
#[derive(Args)]
pub(crate) struct Wait {
    #[command(flatten)]
    named: Named,
    /// Write the accesses, with their passwords, to this file; `-` for standard output
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Overwrite the file if it is there
    #[arg(long, requires = "to")]
    force: bool,
}

impl Wait {
    pub(crate) async fn run(self, tenancy: &Tenancy) -> Result<(), Failure> {
        let id = self.named.id()?;
        let form = tenancy.chosen_form()?;
        let destination = self.to.map(|to| Destination::new(Some(to), self.force, form));
        if let Some(destination) = &destination {
            destination.check()?;
        }
        let (server, form) = tenancy.open().await?;
        follow(&server, form, &id, destination.as_ref()).await
    }
}

/// Waits for a Task, writes its accesses to where they are wanted, and shows what came of it.
pub(crate) async fn follow(
    server: &TenantServer,
    form: Form,
    id: &str,
    destination: Option<&Destination>,
) -> Result<(), Failure> {
    let mut resume = format!("gatehouse batch wait {id}");
    if let Some(destination) = destination {
        resume += &format!(" --to {}", destination.path(id).display());
    }
    let mut interrupts = Interrupts::catch()?;
    let (task, was_stopped) = match watch(server, id, &resume, &mut interrupts).await? {
        Ending::Over(task) => (task, false),
        Ending::Stopped(task) => (task, true),
    };
    let rest = async {
        let file = match destination {
            Some(destination) if task.progress.succeeded > 0 => {
                Some(keep(server, &task, destination).await?)
            }
            _ => None,
        };
        report::show(server, form, &task, file.as_deref()).await
    };
    interrupts.or(rest).await?;
    match report::judge(&task) {
        Err(why) if was_stopped => Err(Failure::new(Kind::Interrupted, why.said())),
        judged => judged,
    }
}

/// Writes the accesses down. What can't be written is still there to be fetched.
async fn keep(
    server: &TenantServer,
    task: &Task,
    destination: &Destination,
) -> Result<PathBuf, Failure> {
    let kept = destination.write(server, task).await;
    kept.map_err(|why| {
        let id = &task.id;
        // The batch is done all the same.
        why.of_kind(Kind::Partial).advise(format!(
            "nothing is lost: `gatehouse batch export {id} --to FILE` fetches the credentials again"
        ))
    })?;
    Ok(destination.path(&task.id))
}
