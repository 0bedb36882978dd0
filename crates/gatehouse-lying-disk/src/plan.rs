//! When a disk fails, and how.

/// What is asked of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    /// To give some bytes of a file.
    Read,
    /// To take some.
    Write,
    /// To cut a file off.
    Truncate,
    /// To have what was written to a file on the disk, not only in memory.
    Flush,
}

/// How a disk fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// With an I/O error. A write has happened in part; a flush has lost some of what it was to write, for good.
    Io,
    /// For want of room. A write has happened in part; a flush has lost some of what it was to write, for good.
    Full,
    /// All at once: nothing works from here on.
    PowerCut,
}

/// Which calls fail.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The first one, counted from 0 over all kinds.
    pub first: usize,
    /// How many calls it lasts, counted over all kinds.
    pub n_calls: usize,
    /// Only those of this kind; of any where there is none.
    pub only: Option<Call>,
    /// How they fail.
    pub failure: Failure,
}

impl Plan {
    /// The one call with this number fails.
    pub fn once(nth: usize, failure: Failure) -> Self {
        Self { first: nth, n_calls: 1, only: None, failure }
    }

    pub(crate) fn meets(&self, nth: usize, call: Call) -> bool {
        nth >= self.first
            && nth - self.first < self.n_calls
            && self.only.is_none_or(|only| only == call)
    }
}
