//! Sessions: the calls that an account proves itself with, before any other.

use indexmap::IndexMap;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use super::call::Call;
use super::source::Source;
use super::span::Span;

/// How an account gets what goes along with every other call.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Session {
    /// One call or two, in order. The second may use what the first gave.
    pub(crate) calls: Vec<SessionCall>,
    /// How long it lasts, where no answer says so.
    #[serde(default = "Session::hour")]
    pub(crate) lifetime: Span,
    /// After so many that the platform refused in a row, none is begun any more until the account is changed: some
    /// platforms lock accounts. Without it, one is tried again now and then.
    #[serde(default)]
    pub(crate) refusals_max: Option<u32>,
}

/// A call of a session.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionCall {
    /// What is asked.
    pub(crate) call: Call,
    /// What is taken from the answer, by the names under which templates then mention it: `{session.token}`.
    #[serde(default)]
    pub(crate) take: IndexMap<String, Source>,
    /// Where in the answer it says for how many seconds it lasts.
    #[serde(default)]
    pub(crate) expires_in: Option<Source>,
}

/// Most calls of a session.
pub(in crate::manifest) const CALLS_MAX: usize = 2;

impl Session {
    fn hour() -> Span {
        Span(std::time::Duration::from_secs(60 * 60))
    }
}
