//! Why a command did not do what it was asked: what happened, what to do about it, and how the process ends.

use std::fmt;

/// Why a command did not do, or not wholly do, what it was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    /// What happened, and with which value.
    said: String,
    /// What to do about it.
    advice: Option<String>,
    /// Under which name the server's log knows the request.
    correlation: Option<String>,
}

/// What a script may want to tell apart. The numbers are part of the interface: docs/cli.md lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What none of the others says.
    Other = 1,
    /// The command line, a file or what came in is wrong; nothing was changed.
    Input = 2,
    /// Some of it was done, and some was not.
    Partial = 3,
    /// Nobody is signed in, or may not do this.
    NotAllowed = 4,
    /// It isn't there.
    NotFound = 5,
    /// The server says no: the request or the present state doesn't allow it.
    Refused = 6,
    /// The server can't be reached, is busy or fails.
    Unreachable = 7,
    /// The disk under the embedded store failed, and the server ended as it was.
    Disk = 74,
    /// Ctrl-C, as shells know it.
    Interrupted = 130,
    /// Who reads what we print has seen enough, as shells know it.
    NoReader = 141,
}

impl Kind {
    /// What an answer of this status means.
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
    pub(crate) fn new(kind: Kind, said: impl Into<String>) -> Self {
        Self { kind, said: said.into(), advice: None, correlation: None }
    }

    /// What came from the command line, a file or standard input is wrong.
    pub(crate) fn input(said: impl Into<String>) -> Self {
        Self::new(Kind::Input, said)
    }

    /// With what to do about it.
    pub(crate) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// With something more to do about it.
    pub(crate) fn advise_also(mut self, advice: impl Into<String>) -> Self {
        let more = advice.into();
        self.advice = Some(match self.advice {
            Some(advice) => format!("{advice}; {more}"),
            None => more,
        });
        self
    }

    /// With the name that the request has in the server's log.
    pub(crate) fn under(mut self, correlation: Option<String>) -> Self {
        self.correlation = correlation.filter(|it| !it.is_empty());
        self
    }

    /// Ending with another code.
    pub(crate) fn of_kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    /// With what was being done, in front.
    pub(crate) fn about(mut self, what: &str) -> Self {
        self.said = format!("{what}: {}", self.said);
        self
    }

    /// What happened, without what to do about it.
    pub(crate) fn said(&self) -> &str {
        &self.said
    }

    /// What the process ends with.
    pub(crate) fn exit_code(&self) -> u8 {
        self.kind as u8
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.said)?;
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
    fn from(said: String) -> Self {
        Self::new(Kind::Other, said)
    }
}

/// What could not be written.
impl From<std::io::Error> for Failure {
    fn from(cause: std::io::Error) -> Self {
        match cause.kind() {
            std::io::ErrorKind::BrokenPipe => Self::new(Kind::NoReader, String::new()),
            _ => Self::new(Kind::Other, format!("the output can't be written: {cause}")),
        }
    }
}
