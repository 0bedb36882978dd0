//! `gatehouse batch`: many accesses with one request, and the Task that follows it.
//!
//! | file | what it has |
//! |---|---|
//! | `create`, `list`, `show`, `wait`, `stop`, `export` | the verbs of these names |
//! | `change` | `update` and `terminate`: they change many accesses |
//! | `rows`, `ids` | what comes in from files and standard input, checked before anything is sent |
//! | `task` | a Task as the server tells of it |
//! | `watch` | waiting for one, with a bar, until it is over or somebody has waited long enough |
//! | `report` | what came of it, and how the command ends |

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

use crate::client::api::Tenancy;
use crate::client::wire;
use crate::failure::Failure;

/// Issue, change and end many accesses at once, and follow what comes of it
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct BatchCommand {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    tenancy: Tenancy,
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
        let Self { verb, tenancy } = self;
        wire::run(async move {
            match verb {
                Verb::Create(create) => create.run(&tenancy).await,
                Verb::Update(update) => update.run(&tenancy).await,
                Verb::Terminate(terminate) => terminate.run(&tenancy).await,
                Verb::List(list) => list.run(&tenancy).await,
                Verb::Show(show) => show.run(&tenancy).await,
                Verb::Wait(wait) => wait.run(&tenancy).await,
                Verb::Stop(stop) => stop.run(&tenancy).await,
                Verb::Export(export) => export.run(&tenancy).await,
            }
        })
    }
}
