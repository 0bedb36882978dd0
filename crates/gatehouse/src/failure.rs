//! Why a command failed: the message, the advice, and the exit code.

use std::fmt;

/// Why a command failed, entirely or partly.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    /// The error, with the value that caused it.
    message: String,
    /// The next step for the user.
    advice: Option<String>,
    /// The request's ID in the server's log.
    correlation: Option<String>,
}

/// Failures that a script may tell apart. The numbers are part of the interface: docs/cli.md lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    Other = 1,
    /// The command line, a file or standard input is invalid; nothing was changed.
    Input = 2,
    /// Some parts succeeded, others failed.
    Partial = 3,
    /// Not signed in, or not authorised.
    NotAllowed = 4,
    /// The object doesn't exist.
    NotFound = 5,
    /// The server refused: the request or the present state doesn't allow it.
    Refused = 6,
    /// The server can't be reached, is busy or fails.
    Unreachable = 7,
    /// The disk under the embedded store failed, and the server ended without cleaning up.
    Disk = 74,
    /// Ctrl-C, with the shells' number.
    Interrupted = 130,
    /// The reader of standard output closed it; the shells' number.
    NoReader = 141,
}

impl FailureKind {
    /// The kind for a response's status.
    pub(crate) fn of_status(status: u16) -> Self {
        match status {
            401 | 403 => Self::NotAllowed,
            404 => Self::NotFound,
            408 | 429 | 500..=599 => Self::Unreachable,
            _ => Self::Refused,
        }
    }
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), advice: None, correlation: None }
    }

    /// The command line, a file or standard input is invalid.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Input, message)
    }

    pub(crate) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    pub(crate) fn advise_also(mut self, advice: impl Into<String>) -> Self {
        let more = advice.into();
        self.advice = Some(match self.advice {
            Some(advice) => format!("{advice}; {more}"),
            None => more,
        });
        self
    }

    /// Sets the request's ID in the server's log.
    pub(crate) fn with_correlation(mut self, correlation: Option<String>) -> Self {
        self.correlation = correlation.filter(|it| !it.is_empty());
        self
    }

    /// Replaces the kind, and with it the exit code.
    pub(crate) fn of_kind(mut self, kind: FailureKind) -> Self {
        self.kind = kind;
        self
    }

    /// Prefixes the message with the operation that failed.
    pub(crate) fn with_context(mut self, what: &str) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }

    /// The message, without the advice.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn exit_code(&self) -> u8 {
        self.kind as u8
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(advice) = &self.advice {
            write!(f, "\n  what to do: {advice}")?;
        }
        if let Some(correlation) = &self.correlation {
            write!(f, "\n  correlation ID: {correlation}")?;
        }
        Ok(())
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::new(FailureKind::Other, message)
    }
}

/// Output that can't be written.
impl From<std::io::Error> for Failure {
    fn from(cause: std::io::Error) -> Self {
        match cause.kind() {
            std::io::ErrorKind::BrokenPipe => Self::new(FailureKind::NoReader, String::new()),
            _ => Self::new(FailureKind::Other, format!("the output can't be written: {cause}")),
        }
    }
}
