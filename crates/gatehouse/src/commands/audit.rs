//! `gatehouse audit`: who changed the setup, and whether the journals are as they were written. `list` asks a server; the
//! others work on the data directory or the database itself, also while a server runs.

mod columns;
mod head;
mod list;
pub(crate) mod verify;

use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::runtime;

/// Show who changed the setup, and check that the journals are as they were written
#[derive(Args)]
pub(crate) struct AuditCommand {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    List(list::List),
    /// Check every journal: name the first event that was altered, inserted or removed
    Verify(verify::Verify),
    /// Show where every journal ends, to be kept elsewhere
    Head(head::Head),
}

impl AuditCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.verb {
            Verb::List(list) => runtime::run(list.run()),
            Verb::Verify(verify) => runtime::run(verify.run()).map_err(Failure::from),
            Verb::Head(head) => runtime::run(head.run()).map_err(Failure::from),
        }
    }
}
