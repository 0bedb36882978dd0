//! How a measurement can fail, and the exit code that each failure becomes.

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

/// Why there is no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line asks for something that is not there; says what would be right.
    Usage(String),
    /// A step could not be taken.
    Trouble(String),
    /// The server answered something else than what its store holds. No number is worth anything.
    WrongAnswer(String),
    /// With `--strict`: the answers were right, and this many goals were missed.
    MissedGoals(usize),
    /// With `--check`: what uses more than it did when the results were kept, or is not measured any more.
    Regressions(Vec<String>),
}

impl Failure {
    /// Says what was being done when `cause` came up.
    pub(crate) fn during(
        what: impl fmt::Display,
    ) -> impl FnOnce(Box<dyn std::error::Error>) -> Self {
        move |cause| Self::Trouble(format!("{what}: {}", with_sources(cause.as_ref())))
    }

    /// What the kernel keeps account of can't be read.
    pub(crate) fn without_account(cause: std::io::Error) -> Self {
        Self::Trouble(format!("no account of what was used: {cause}"))
    }

    /// A file or a directory is not as it should be.
    pub(crate) fn of_path(path: &Path, cause: &std::io::Error) -> Self {
        Self::Trouble(format!("{}: {cause}", path.display()))
    }

    /// Tells the person what happened and gives the exit code for it.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Self::Usage(what) => {
                eprintln!("bench: {what}");
                ExitCode::from(2)
            }
            Self::Trouble(what) => {
                eprintln!("bench: {what}");
                ExitCode::FAILURE
            }
            Self::WrongAnswer(what) => {
                eprintln!("bench: WRONG ANSWER: {what}");
                ExitCode::FAILURE
            }
            Self::MissedGoals(n) => {
                eprintln!("bench: {n} goals are missed; the table marks them");
                ExitCode::FAILURE
            }
            Self::Regressions(all) => {
                for one in all {
                    eprintln!("bench: worse than what is kept: {one}");
                }
                ExitCode::FAILURE
            }
        }
    }
}

/// An error and what it came from: the drivers' own first line is often just `db error`.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
