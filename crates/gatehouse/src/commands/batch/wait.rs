//! `gatehouse batch wait`, and what every command does that waits.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;

use super::export::Destination;
use super::report;
use super::task::{COLUMNS, Named, Task};
use super::watch::{Ending, Interrupts, watch};
use crate::client::api::{Tenancy, TenantServer};
use crate::failure::{Failure, Kind};
use crate::terminal::output::{Form, show_one};

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
        follow(&server, form, &id, destination.as_ref(), None).await
    }
}

/// What a command does whose batch is accepted: it waits for it, or says how that is done.
pub(crate) async fn after(
    server: &TenantServer,
    form: Form,
    task: &Task,
    waits: bool,
    destination: Option<&Destination>,
) -> Result<(), Failure> {
    let id = &task.id;
    if waits {
        // Whatever happens to this terminal, the batch can be found again.
        eprintln!("{id} is accepted");
        return follow(server, form, id, destination, Some(Instant::now())).await;
    }
    show_one(form, COLUMNS, &task.shown(None))?;
    if form == Form::Table {
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

/// Waits for a Task, writes its accesses to where they are wanted, and shows what came of it. `since` is when the server was
/// there last, if it was.
async fn follow(
    server: &TenantServer,
    form: Form,
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
    interrupts.or(rest).await.map_err(|why| match why.kind {
        Kind::Interrupted => {
            let [show, export] =
                ["show", "export"].map(|verb| server.command(&format!("batch {verb} {id}")));
            why.advise(format!("`{show}` says what came of it, `{export}` fetches the credentials"))
        }
        _ => why,
    })?;
    let judged = report::judge(server, &task);
    if was_stopped { judged.map_err(|why| why.of_kind(Kind::Interrupted)) } else { judged }
}

/// Writes the accesses down. What can't be written is still there to be fetched.
async fn keep(
    server: &TenantServer,
    task: &Task,
    destination: &Destination,
) -> Result<PathBuf, Failure> {
    let kept = destination.write(server, task).await;
    kept.map_err(|why| {
        if why.kind == Kind::NoReader {
            return why;
        }
        let export = server.command(&format!("batch export {} --to FILE", task.id));
        // The batch is done all the same.
        why.of_kind(Kind::Partial)
            .advise(format!("nothing is lost: `{export}` fetches the credentials again"))
    })?;
    Ok(destination.path(&task.id))
}
