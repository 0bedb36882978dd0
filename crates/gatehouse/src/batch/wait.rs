//! `gatehouse batch wait`.

use clap::Args;

use super::export::Destination;
use super::report;
use super::task::{Named, Task};
use super::watch::{Ending, watch};
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
    #[command(flatten)]
    destination: Destination,
}

impl Wait {
    pub(crate) async fn run(self, tenancy: &Tenancy) -> Result<(), Failure> {
        let id = self.named.id()?;
        self.destination.check()?;
        let (server, form) = tenancy.open().await?;
        let wanted = self.destination.is_given();
        follow(&server, form, &id, wanted.then_some(&self.destination)).await
    }
}

/// Waits for a Task, writes its accesses to where they are wanted, and shows what came of it.
pub(crate) async fn follow(
    server: &TenantServer,
    form: Form,
    id: &str,
    destination: Option<&Destination>,
) -> Result<(), Failure> {
    let (task, was_stopped) = match watch(server, id).await? {
        Ending::Over(task) => (task, false),
        Ending::Stopped(task) => (task, true),
    };
    let file = match destination {
        Some(destination) if task.progress.succeeded > 0 => {
            Some(keep(server, &task, destination).await?)
        }
        _ => None,
    };
    report::show(server, form, &task, file.as_deref()).await?;
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
) -> Result<String, Failure> {
    destination.write(server, task).await.map_err(|why| {
        let id = &task.id;
        why.advise(format!(
            "nothing is lost: `gatehouse batch export {id} --to FILE` fetches it again"
        ))
    })
}
