//! Errors: what an answer means that isn't what was asked for, under whichever status it comes.

use http::StatusCode;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::condition::Condition;
use super::selection::Selection;

/// What answers mean. The first rule that holds decides; without one, 404 means that there is no such thing, 401
/// that the session has ended, 429 that the platform is asked too often, and whatever else isn't 2xx a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Errors {
    /// Where an error has the platform's own code for what is wrong; of several places, the first that has something.
    #[serde(default)]
    pub(crate) code: Selection,
    /// Where an error says in words what is wrong; of several places, the first that has something.
    #[serde(default)]
    pub(crate) message: Selection,
    /// Rules, in order.
    #[serde(default)]
    pub(crate) rules: Vec<ErrorRule>,
}

/// A rule for answers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ErrorRule {
    /// What must be so of the answer.
    pub(crate) when: Condition,
    /// What it then means.
    pub(crate) means: Meaning,
}

/// What an answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Meaning {
    /// It is what was asked for.
    Fine,
    /// There is no such thing.
    NotFound,
    /// The platform is asked too often.
    Throttled,
    /// The session has ended: another one is begun, once.
    Expired,
    /// Something failed.
    Failed,
}

impl Errors {
    /// What an answer means.
    pub(crate) fn meaning(&self, status: StatusCode, body: &Value) -> Meaning {
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

    /// Whether a rule says that an answer is a failure. A status alone may tell of a wrong question.
    pub(crate) fn is_told_failure(&self, status: StatusCode, body: &Value) -> bool {
        let by_rule = self.rules.iter().find(|rule| rule.when.holds(Some(status), body));
        by_rule.is_some_and(|rule| rule.means == Meaning::Failed)
    }

    /// The platform's own code for an error.
    pub(crate) fn code(&self, body: &Value) -> Option<String> {
        self.code.first(body)
    }

    /// What an error says in words.
    pub(crate) fn message(&self, body: &Value) -> Option<String> {
        self.message.first(body)
    }
}

#[cfg(test)]
mod tests;
