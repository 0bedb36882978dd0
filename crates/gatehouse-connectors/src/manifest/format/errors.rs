//! Meaning of responses, whatever their status.

use http::StatusCode;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use smol_str::SmolStr;

use super::condition::Condition;
use super::path::Json;
use super::selection::Selection;

/// Meaning of responses. The first rule that holds decides; without one, 404 means not found, 401 an expired session,
/// 429 throttling, and any other status but 2xx a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Errors {
    /// Path to the platform's own error code; of several paths, the first with a value.
    #[serde(default)]
    pub(crate) code: Selection,
    /// Path to the platform's error message; of several paths, the first with a value.
    #[serde(default)]
    pub(crate) message: Selection,
    /// Rules, in order.
    #[serde(default)]
    pub(crate) rules: Vec<ErrorRule>,
}

/// A rule for responses.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ErrorRule {
    /// Condition on the response.
    pub(crate) when: Condition,
    /// Meaning of the response if the condition holds.
    pub(crate) means: Meaning,
}

/// Meaning of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Meaning {
    /// The expected response.
    Fine,
    /// No such object.
    NotFound,
    /// Too many calls.
    Throttled,
    /// The session has expired: gatehouse logs in again, once.
    Expired,
    /// A failure.
    Failed,
}

impl Errors {
    /// Meaning of a response.
    pub(crate) fn meaning(&self, status: StatusCode, body: &impl Json) -> Meaning {
        let by_rule = self.rules.iter().find(|rule| rule.when.holds(Some(status), body));
        if let Some(rule) = by_rule {
            return rule.means;
        }
        match status {
            StatusCode::NOT_FOUND => Meaning::NotFound,
            StatusCode::UNAUTHORIZED => Meaning::Expired,
            StatusCode::TOO_MANY_REQUESTS => Meaning::Throttled,
            other if other.is_success() => Meaning::Fine,
            _ => Meaning::Failed,
        }
    }

    /// Whether a rule makes a response a failure. A status alone may be the caller's fault.
    pub(crate) fn is_failure_by_rule(&self, status: StatusCode, body: &impl Json) -> bool {
        let by_rule = self.rules.iter().find(|rule| rule.when.holds(Some(status), body));
        by_rule.is_some_and(|rule| rule.means == Meaning::Failed)
    }

    /// The platform's own error code.
    pub(crate) fn code(&self, body: &impl Json) -> Option<SmolStr> {
        self.code.first(body)
    }

    /// The platform's error message.
    pub(crate) fn message(&self, body: &impl Json) -> Option<SmolStr> {
        self.message.first(body)
    }
}

#[cfg(test)]
mod tests;
