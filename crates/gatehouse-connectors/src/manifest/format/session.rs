//! Sessions: how an account logs in.

use indexmap::IndexMap;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use super::call::Call;
use super::short_duration::ShortDuration;
use super::source::Source;

/// How an account gets the tokens for its other calls.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Session {
    /// One call or two, in order. The second may use values of the first.
    pub(crate) calls: Vec<SessionCall>,
    /// Lifetime, if no response gives one.
    #[serde(default = "Session::hour")]
    pub(crate) lifetime: ShortDuration,
    /// After this many log-ins rejected in a row, gatehouse stops until the account is changed: some platforms lock
    /// accounts. Without it, log-ins are retried with growing pauses.
    #[serde(default)]
    pub(crate) refusals_max: Option<u32>,
}

/// A call of a session.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionCall {
    /// The call.
    pub(crate) call: Call,
    /// Values taken from the response, by their names in templates: `{session.token}`.
    #[serde(default)]
    pub(crate) take: IndexMap<String, Source>,
    /// Path to the lifetime in seconds.
    #[serde(default)]
    pub(crate) expires_in: Option<Source>,
}

/// Most calls of a session.
pub(in crate::manifest) const CALLS_MAX: usize = 2;

impl Session {
    fn hour() -> ShortDuration {
        ShortDuration(std::time::Duration::from_secs(60 * 60))
    }
}
