//! Patterns for whole texts.

use std::fmt;

use regex::Regex;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

/// A regular expression for a whole text, such as `HS[0-9a-f]{32}`.
#[derive(Clone, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(try_from = "String")]
#[cfg_attr(test, schemars(with = "String"))]
pub(crate) struct Pattern {
    text: String,
    regex: Regex,
}

impl Pattern {
    /// Whether the whole text matches.
    pub(crate) fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        // Parsed alone first: an unbalanced `)` would close the group around it.
        let whole = || Regex::new(&format!("^(?:{text})$"));
        let regex = Regex::new(&text).and_then(|_| whole()).map_err(|error| {
            let why = error.to_string();
            let why = why.lines().last().unwrap_or_default().trim();
            format!("must be a regular expression such as `[0-9]+`, not `{text}`: {why}")
        })?;
        Ok(Self { text, regex })
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pattern({self})")
    }
}

#[cfg(test)]
mod tests;
