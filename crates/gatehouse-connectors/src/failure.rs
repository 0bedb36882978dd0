//! Why an account gave less than it was asked for: a value, which stands beside what others gave.

use std::time::Duration;

/// Most bytes of what a platform said that are kept.
pub const SAID_BYTES_MAX: usize = 2048;

/// Why an account could not be asked, or what was wrong with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// What went wrong, for people: a sentence without its full stop, without secrets.
    pub detail: String,
    /// What the platform itself said, cleaned and cut to [`SAID_BYTES_MAX`].
    pub said: Option<Box<UnexpectedResponse>>,
    /// How long the platform wants to be left alone, where it says so.
    pub retry_after: Option<Duration>,
    /// Whether it is this server's own affair: the platform was not asked, or had no time for an answer.
    pub(crate) is_ours: bool,
}

/// An answer that a platform gave instead of the one that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnexpectedResponse {
    /// The status of its answer.
    pub status: u16,
    /// The platform's own code for what is wrong, where its connector finds one.
    pub code: Option<String>,
    /// The platform's own error message, where the connector finds one.
    pub message: Option<String>,
    /// The beginning of its body; empty where that is not told.
    pub body: String,
}

/// What kind of failure it is: one for each that a client would treat differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The platform can't be reached, answers with an error, or with what can't be understood.
    Error,
    /// It took longer than there was time.
    Timeout,
    /// It failed so often that it is left alone for a while.
    Open,
    /// It wants to be asked less often.
    Throttled,
    /// It can only be paged through from the start, and the page is too far away.
    PageOutOfReach,
    /// It carries identifiers of this kind, and can't be asked for them.
    LookupNotSupported,
}

impl Failure {
    /// A failure of which nothing more is known than this.
    pub fn new(kind: FailureKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), said: None, retry_after: None, is_ours: false }
    }

    /// The same, with what the platform itself said.
    pub fn with_said(mut self, said: UnexpectedResponse) -> Self {
        self.said = Some(Box::new(said));
        self
    }

    /// The same, with how long the platform wants to be left alone.
    pub fn with_retry_after(mut self, retry_after: Option<Duration>) -> Self {
        self.retry_after = retry_after;
        self
    }

    /// An answer that did not come in time.
    pub(crate) fn late() -> Self {
        Self::new(FailureKind::Timeout, "did not answer in time")
    }

    /// Whether the platform took the question for a wrong one, as it does with what it no longer knows.
    pub(crate) fn is_refusal(&self) -> bool {
        let status = self.said.as_ref().map(|said| said.status);
        status.is_some_and(|it| (400..500).contains(&it) && ![401, 403, 408, 429].contains(&it))
    }

    /// A list that comes back to where it was.
    pub(crate) fn circle() -> Self {
        let detail = "its list leads in a circle: what comes behind has been there before";
        Self::new(FailureKind::Error, detail)
    }

    /// A page that holds more than was asked for.
    pub(crate) fn too_many(n: usize, size: u32) -> Self {
        let detail = format!(
            "gave {n} connections on a page of {size}: where they belong in its list can't be told"
        );
        Self::new(FailureKind::Error, detail)
    }

    /// Whether it tells a client the same as another one.
    fn is_like(&self, other: &Self) -> bool {
        let is_told_apart = self.kind == FailureKind::LookupNotSupported;
        self.kind == other.kind && (!is_told_apart || self.detail == other.detail)
    }
}

/// What failed at one account, the same thing once: a hundred calls that fail alike are one failure.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failures(Vec<Failure>);

impl Failures {
    pub(crate) fn add(&mut self, failure: Failure) {
        if !self.0.iter().any(|it| it.is_like(&failure)) {
            self.0.push(failure);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl IntoIterator for Failures {
    type Item = Failure;
    type IntoIter = std::vec::IntoIter<Failure>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl From<Failure> for Failures {
    fn from(failure: Failure) -> Self {
        Self(vec![failure])
    }
}
