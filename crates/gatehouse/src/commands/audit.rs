//! `gatehouse audit`: checks the chains of the journals. Works on the data directory or the database itself, also while
//! a server runs.

mod head;
pub(crate) mod verify;

use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::runtime;

/// Check that the journals are as they were written, and show where they end
#[derive(Args)]
pub(crate) struct AuditCommand {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Check every journal: name the first event that was altered, inserted or removed
    Verify(verify::Verify),
    /// Show where every journal ends, to be kept elsewhere
    Head(head::Head),
}

impl AuditCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.verb {
            Verb::Verify(verify) => runtime::run(verify.run()).map_err(Failure::from),
            Verb::Head(head) => runtime::run(head.run()).map_err(Failure::from),
        }
    }
}
