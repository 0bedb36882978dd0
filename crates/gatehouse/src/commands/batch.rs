//! `gatehouse batch`: many accesses with one request, and the Task that the server runs for it.
//!
//! | file | contents |
//! |---|---|
//! | `create`, `list`, `show`, `wait`, `stop`, `export` | the commands of these names |
//! | `change` | `update` and `terminate`, which change many accesses |
//! | `rows`, `ids` | input from files and standard input, checked before anything is sent |
//! | `task` | a Task in the server's responses, and its exit code |
//! | `watch` | waits for a Task with a progress bar, until it ends or the user interrupts |
//! | `report` | a Task's result, as it is shown |

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
pub(crate) mod watch;

tenant_command! {
    /// Issue, change and terminate many accesses at once, and follow the progress
    BatchCommand {
        Create(create::Create),
        Update(change::Update),
        Terminate(change::Terminate),
        List(list::List),
        Show(show::Show),
        Wait(wait::Wait),
        Stop(stop::Stop),
        Export(export::Export),
    }
}
