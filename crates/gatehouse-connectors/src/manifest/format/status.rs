//! Status of a connection: rules first, then words, then the platform's own status in upper case.

use indexmap::IndexMap;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use smol_str::{SmolStr, StrExt};

use super::condition::Condition;
use super::path::Json;
use super::selection::Selection;

/// How to find a connection's status. A platform status without a translation is taken in upper case.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Status {
    /// The platform's own status.
    #[serde(default)]
    pub(crate) word: Option<Selection>,
    /// Translations of the platform's statuses.
    #[serde(default)]
    pub(crate) words: IndexMap<String, String>,
    /// Rules that come before translations: the first that holds decides.
    #[serde(default)]
    pub(crate) rules: Vec<StatusRule>,
    /// Status if there is no platform status, and no rule holds.
    #[serde(default)]
    pub(crate) otherwise: Option<String>,
}

/// A rule for a status.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct StatusRule {
    /// Condition on the connection.
    pub(crate) when: Condition,
    /// Status if the condition holds.
    pub(crate) is: String,
}

/// Status of a connection without a platform status and a matching rule.
const UNKNOWN: SmolStr = SmolStr::new_static("UNKNOWN");

impl Status {
    /// The product's status, and the platform's own.
    pub(crate) fn of(&self, document: &impl Json) -> (SmolStr, Option<SmolStr>) {
        let word = self.word.as_ref().and_then(|it| it.first(document));
        let by_rule = self.rules.iter().find(|rule| rule.when.holds(None, document));
        let ours = match (by_rule, &word) {
            (Some(rule), _) => rule.is.as_str().into(),
            (None, Some(word)) => match self.words.get(word.as_str()) {
                Some(ours) => ours.as_str().into(),
                None => word.to_uppercase_smolstr(),
            },
            (None, None) => self.otherwise.as_deref().map_or(UNKNOWN, SmolStr::new),
        };
        (ours, word)
    }
}

#[cfg(test)]
mod tests;
