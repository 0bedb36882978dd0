//! Failures of accounts: values that are returned beside other accounts' results.

use std::time::Duration;

/// Most bytes of a response's body in a failure.
pub const SHOWN_BYTES_MAX: usize = 2048;

/// Why an account could not be called, or what is wrong with its response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Kind of failure.
    pub kind: FailureKind,
    /// The cause: a sentence without its full stop, without secrets.
    pub detail: String,
    /// The platform's response, without secrets, cut to [`SHOWN_BYTES_MAX`].
    pub response: Option<Box<UnexpectedResponse>>,
    /// Pause that the platform asks for.
    pub retry_after: Option<Duration>,
    /// Whether this server is the cause: the platform was not called, or had too little time.
    pub(crate) is_ours: bool,
}

/// A platform's response that is not the expected one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnexpectedResponse {
    /// HTTP status.
    pub status: u16,
    /// The platform's own error code, if the connector finds one.
    pub code: Option<String>,
    /// The platform's own error message, if the connector finds one.
    pub message: Option<String>,
    /// Start of the body; empty if it must not be shown.
    pub body: String,
}

/// Kind of failure: one for each that a client would treat differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The platform can't be reached, or responds with an error or something unreadable.
    Error,
    /// The deadline passed.
    Timeout,
    /// The circuit breaker is open.
    Open,
    /// The platform or a budget limits the calls.
    Throttled,
    /// The platform pages by cursor only, and the page is too far from the start.
    PageOutOfReach,
    /// The platform has identifiers of this kind, but can't search for them.
    LookupNotSupported,
}

impl Failure {
    /// A failure with a detail alone.
    pub fn new(kind: FailureKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), response: None, retry_after: None, is_ours: false }
    }

    /// Adds the platform's response.
    pub fn with_response(mut self, response: UnexpectedResponse) -> Self {
        self.response = Some(Box::new(response));
        self
    }

    /// Adds the pause that the platform asks for.
    pub fn with_retry_after(mut self, retry_after: Option<Duration>) -> Self {
        self.retry_after = retry_after;
        self
    }

    /// A connector that missed the deadline.
    pub(crate) fn timed_out() -> Self {
        Self::new(FailureKind::Timeout, "did not answer in time")
    }

    /// Whether the platform rejected the request, as it does with an expired cursor.
    pub(crate) fn is_refusal(&self) -> bool {
        let status = self.response.as_ref().map(|it| it.status);
        status.is_some_and(|it| (400..500).contains(&it) && ![401, 403, 408, 429].contains(&it))
    }

    /// A list whose pages repeat.
    pub(crate) fn cycle() -> Self {
        let detail = "its list leads in a circle: a page repeats an earlier one";
        Self::new(FailureKind::Error, detail)
    }

    /// A page with more connections than requested.
    pub(crate) fn too_many(n: usize, size: u32) -> Self {
        let detail = format!(
            "gave {n} connections on a page of {size}: their positions in the list can't be told"
        );
        Self::new(FailureKind::Error, detail)
    }

    /// Whether a client would read the two as the same failure.
    fn looks_like(&self, other: &Self) -> bool {
        let has_details = self.kind == FailureKind::LookupNotSupported;
        self.kind == other.kind && (!has_details || self.detail == other.detail)
    }
}

/// Failures of one account without repetitions: a hundred calls that fail alike are one failure.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failures(Vec<Failure>);

impl Failures {
    pub(crate) fn add(&mut self, failure: Failure) {
        if !self.0.iter().any(|it| it.looks_like(&failure)) {
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
