//! Failures of a measurement, and their exit codes.

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

/// Why there is no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line is wrong; the text says what would be right.
    Usage(String),
    Step(String),
    /// The server's response contradicts its store. All figures are void.
    WrongAnswer(String),
    /// With `--strict`: the responses were right, and this many goals were missed.
    MissedGoals(usize),
    /// With `--check`: figures that are worse than the stored results, or are missing.
    Regressions(Vec<String>),
}

impl Failure {
    /// Adds the failed step to `cause`.
    pub(crate) fn during(
        what: impl fmt::Display,
    ) -> impl FnOnce(Box<dyn std::error::Error>) -> Self {
        move |cause| Self::Step(format!("{what}: {}", with_sources(cause.as_ref())))
    }

    /// The kernel's statistics can't be read.
    pub(crate) fn unreadable_usage(cause: std::io::Error) -> Self {
        Self::Step(format!("CPU usage is unreadable: {cause}"))
    }

    /// A file or a directory can't be used.
    pub(crate) fn of_path(path: &Path, cause: &std::io::Error) -> Self {
        Self::Step(format!("{}: {cause}", path.display()))
    }

    /// Prints the failure and returns its exit code.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Self::Usage(what) => {
                eprintln!("bench: {what}");
                ExitCode::from(2)
            }
            Self::Step(what) => {
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
                    eprintln!("bench: worse than the stored results: {one}");
                }
                ExitCode::FAILURE
            }
        }
    }
}

/// An error with its causes: a driver's own first line is often just `db error`.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
