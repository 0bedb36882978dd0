//! Conditions: what is so of an answer, or of one connection in it.

use http::StatusCode;
#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::path::{Path, text_of};
use super::pattern::Pattern;

/// Something that is so or not. All that is named must hold; a path by itself holds where it leads to something that
/// is not null.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Condition {
    /// The status of the answer: `404`, `[404, 410]` or `5xx`.
    #[serde(default)]
    pub(crate) status: Option<Statuses>,
    /// Where to look.
    #[serde(default)]
    pub(crate) path: Option<Path>,
    /// What must be there, exactly.
    #[serde(default)]
    pub(crate) equals: Option<Value>,
    /// What must be there: any of these.
    #[serde(default)]
    pub(crate) one_of: Option<Vec<Value>>,
    /// What the text that is there must be like, from its beginning to its end.
    #[serde(default)]
    pub(crate) matches: Option<Pattern>,
    /// Whether there must be something, or nothing (or null).
    #[serde(default)]
    pub(crate) exists: Option<bool>,
}

impl Condition {
    /// Whether it is so of a document, and of the status that it came with.
    pub(crate) fn holds(&self, status: Option<StatusCode>, document: &Value) -> bool {
        if let Some(statuses) = &self.status
            && !status.is_some_and(|it| statuses.contain(it))
        {
            return false;
        }
        let Some(path) = &self.path else { return true };
        let found: Vec<&Value> =
            path.all(document).into_iter().filter(|it| !it.is_null()).collect();
        if self.exists == Some(false) {
            return found.is_empty();
        }
        found.iter().any(|value| self.fits(value))
    }

    fn fits(&self, value: &Value) -> bool {
        self.equals.as_ref().is_none_or(|it| it == value)
            && self.one_of.as_ref().is_none_or(|all| all.contains(value))
            && self
                .matches
                .as_ref()
                .is_none_or(|it| text_of(value).is_some_and(|text| it.matches(&text)))
    }

    /// Whether it says anything at all, and nothing without saying where.
    pub(in crate::manifest) fn fault(&self) -> Option<&'static str> {
        let asks = self.equals.is_some() || self.one_of.is_some() || self.matches.is_some();
        if self.path.is_none() && (asks || self.exists.is_some()) {
            return Some("needs `path`, which says where to look");
        }
        if self.exists == Some(false) && asks {
            return Some("can't want nothing to be there and something of it as well");
        }
        (self.path.is_none() && self.status.is_none()).then_some("must have `status` or `path`")
    }
}

/// Statuses of answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statuses(Vec<StatusRange>);

/// A status, or all of a hundred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StatusRange {
    from: u16,
    to: u16,
}

impl Statuses {
    /// One of them.
    pub(crate) fn example(&self) -> Option<StatusCode> {
        self.0.first().and_then(|it| StatusCode::from_u16(it.from).ok())
    }

    fn contain(&self, status: StatusCode) -> bool {
        self.0.iter().any(|it| (it.from..=it.to).contains(&status.as_u16()))
    }
}

impl<'de> Deserialize<'de> for Statuses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let ranges = match &value {
            Value::Array(members) => members.iter().map(range).collect(),
            one => range(one).map(|it| vec![it]),
        };
        ranges.map(Self).ok_or_else(|| {
            serde::de::Error::custom(format!(
                "must be a status such as `404`, a list of them, or `4xx` for a hundred, not {value}"
            ))
        })
    }
}

fn range(value: &Value) -> Option<StatusRange> {
    let text = text_of(value)?;
    if let Some(hundred) = text.strip_suffix("xx") {
        let hundred = hundred.parse::<u16>().ok().filter(|it| (1..=5).contains(it))?;
        return Some(StatusRange { from: hundred * 100, to: hundred * 100 + 99 });
    }
    let status = text.parse::<u16>().ok().filter(|it| (100..600).contains(it))?;
    Some(StatusRange { from: status, to: status })
}

#[cfg(test)]
impl JsonSchema for Statuses {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Statuses".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let one = json_schema!({ "anyOf": [
            { "type": "integer", "minimum": 100, "maximum": 599 },
            { "type": "string", "pattern": "^[1-5]xx$" },
        ] });
        json_schema!({
            "description": "A status of an answer, a list of them, or a hundred such as `5xx`.",
            "anyOf": [one, { "type": "array", "items": one }],
        })
    }
}

#[cfg(test)]
mod tests;
