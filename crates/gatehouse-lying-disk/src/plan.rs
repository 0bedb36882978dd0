//! When a disk fails, and how.

/// Kinds of calls to a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    /// Reads bytes of a file.
    Read,
    /// Writes bytes to a file.
    Write,
    /// Truncates a file.
    Truncate,
    /// Makes a file's writes durable.
    Flush,
}

/// How a disk fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// I/O error. A write happens in part; a flush loses some changes for good.
    Io,
    /// No room. A write happens in part; a flush loses some changes for good.
    Full,
    /// Power cut: every later call fails.
    PowerCut,
}

/// Which calls fail.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The first failing call, counted from 0 over all kinds.
    pub first: usize,
    /// Number of calls that fail, counted over all kinds.
    pub n_calls: usize,
    /// The kind of call that fails; `None` for every kind.
    pub only: Option<Call>,
    /// How the calls fail.
    pub failure: Failure,
}

impl Plan {
    /// The one call with this number fails.
    pub fn once(nth: usize, failure: Failure) -> Self {
        Self { first: nth, n_calls: 1, only: None, failure }
    }

    pub(crate) fn applies_to(&self, nth: usize, call: Call) -> bool {
        nth >= self.first
            && nth - self.first < self.n_calls
            && self.only.is_none_or(|only| only == call)
    }
}
