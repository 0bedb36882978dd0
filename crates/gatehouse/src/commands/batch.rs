//! `gatehouse batch`: many accesses with one request, and the Task that the server runs for it.
//!
//! | file | contents |
//! |---|---|
//! | `create`, `list`, `show`, `wait`, `stop`, `export` | the commands of these names |
//! | `change` | `update` and `terminate`, which change many accesses |
//! | `rows`, `ids` | input from files and standard input, checked before anything is sent |
//! | `task` | a Task in the server's responses |
//! | `watch` | waits for a Task with a progress bar, until it ends or the user interrupts |
//! | `report` | a Task's result, and the exit code |

mod change;
mod create;
mod export;
pub(crate) mod ids;
mod list;
mod report;
pub(crate) mod rows;
mod show;
mod stop;
pub(crate) mod task;
mod wait;
mod watch;

use clap::{Args, Subcommand};

use crate::client::api::TenantArgs;
use crate::client::wire;
use crate::failure::Failure;

/// Issue, change and terminate many accesses at once, and follow the progress
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct BatchCommand {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    tenant_args: TenantArgs,
}

#[derive(Subcommand)]
enum Verb {
    Create(create::Create),
    Update(change::Update),
    Terminate(change::Terminate),
    List(list::List),
    Show(show::Show),
    Wait(wait::Wait),
    Stop(stop::Stop),
    Export(export::Export),
}

impl BatchCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let Self { verb, tenant_args } = self;
        wire::run(async move {
            match verb {
                Verb::Create(create) => create.run(&tenant_args).await,
                Verb::Update(update) => update.run(&tenant_args).await,
                Verb::Terminate(terminate) => terminate.run(&tenant_args).await,
                Verb::List(list) => list.run(&tenant_args).await,
                Verb::Show(show) => show.run(&tenant_args).await,
                Verb::Wait(wait) => wait.run(&tenant_args).await,
                Verb::Stop(stop) => stop.run(&tenant_args).await,
                Verb::Export(export) => export.run(&tenant_args).await,
            }
        })
    }
}
