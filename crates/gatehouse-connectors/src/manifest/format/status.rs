//! The status of a connection: rules, then words, then the platform's own word in upper case.

use indexmap::IndexMap;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use smol_str::SmolStr;

use super::condition::Condition;
use super::selection::Selection;

/// How the status of a connection is found. A word that nothing here names becomes itself in upper case.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Status {
    /// The platform's own word.
    #[serde(default)]
    pub(crate) word: Option<Selection>,
    /// What words of the platform mean.
    #[serde(default)]
    pub(crate) words: IndexMap<String, String>,
    /// What else decides, before words: the first rule that holds.
    #[serde(default)]
    pub(crate) rules: Vec<StatusRule>,
    /// What it is where there is no word, and no rule holds.
    #[serde(default)]
    pub(crate) otherwise: Option<String>,
}

/// A rule for a status.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct StatusRule {
    /// What must be so.
    pub(crate) when: Condition,
    /// What the status then is.
    pub(crate) is: String,
}

/// What a connection has that has no word and fits no rule.
const UNKNOWN: SmolStr = SmolStr::new_static("UNKNOWN");

impl Status {
    /// Our word, and the platform's.
    pub(crate) fn of(&self, document: &Value) -> (SmolStr, Option<SmolStr>) {
        let word = self.word.as_ref().and_then(|it| it.first(document));
        let by_rule = self.rules.iter().find(|rule| rule.when.holds(None, document));
        let ours = match (by_rule, &word) {
            (Some(rule), _) => rule.is.as_str().into(),
            (None, Some(word)) => match self.words.get(word) {
                Some(ours) => ours.as_str().into(),
                None => word.to_uppercase().into(),
            },
            (None, None) => self.otherwise.as_deref().map_or(UNKNOWN, SmolStr::new),
        };
        (ours, word.map(SmolStr::from))
    }
}

#[cfg(test)]
mod tests;
