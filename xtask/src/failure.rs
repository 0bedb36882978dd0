//! Failures of a chore, and the exit code of each.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitCode, ExitStatus};

/// Why a chore failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line is wrong; the text says what would be right.
    Usage(String),
    /// A step of xtask itself failed; the text says what to do about it.
    Trouble(String),
    /// A program that xtask started failed, and has printed the reason itself.
    Program { name: String, status: ExitStatus },
}

impl Failure {
    /// A failure to do something with a file or a directory.
    pub(crate) fn at_path(path: &Path, what: &str, cause: io::Error) -> Self {
        Failure::Trouble(format!("{} {what}: {cause}", path.display()))
    }

    /// Fails if the program `name` has failed.
    pub(crate) fn check(name: &str, status: ExitStatus) -> Result<(), Self> {
        if status.success() { Ok(()) } else { Err(Self::Program { name: name.to_owned(), status }) }
    }

    /// Prints the failure, and what to do about it.
    pub(crate) fn print(&self) {
        match self {
            Failure::Usage(what) => {
                eprintln!("xtask: {what}");
                eprintln!("xtask: `cargo xtask help` explains the commands");
            }
            Failure::Trouble(what) => eprintln!("xtask: {what}"),
            Failure::Program { name, status } => eprintln!("xtask: {name} failed ({status})"),
        }
    }

    /// Exit code of xtask: 2 for a wrong command line, a failed program's own code, 1 for other failures.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Usage(_) => ExitCode::from(2),
            Failure::Trouble(_) => ExitCode::FAILURE,
            Failure::Program { status, .. } => ExitCode::from(shell_code(*status)),
        }
    }
}

/// Exit code as a shell gives it: the program's own code, or 128 plus the signal that killed the program.
fn shell_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_and_signals_pass_through_as_in_a_shell() {
        assert_eq!(shell_code(ExitStatus::from_raw(101 << 8)), 101);
        assert_eq!(shell_code(ExitStatus::from_raw(9)), 137);
    }
}
