//! Conditions on a response, or on a connection in it.

use std::ops::ControlFlow;

use http::StatusCode;
#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::path::{Json, JsonKind, Path, text_of};
use super::pattern::Pattern;

/// A condition. All given fields must hold; a path alone holds if it leads to a value that is not null.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Condition {
    /// Status of the response: `404`, `[404, 410]` or `5xx`.
    #[serde(default)]
    pub(crate) status: Option<Statuses>,
    /// Path to the value.
    #[serde(default)]
    pub(crate) path: Option<Path>,
    /// Exact value.
    #[serde(default)]
    pub(crate) equals: Option<Value>,
    /// Allowed values.
    #[serde(default)]
    pub(crate) one_of: Option<Vec<Value>>,
    /// Pattern that the whole value must match.
    #[serde(default)]
    pub(crate) matches: Option<Pattern>,
    /// Whether there must be a value, or none (or null).
    #[serde(default)]
    pub(crate) exists: Option<bool>,
}

impl Condition {
    /// Whether the condition holds for a document and its status.
    pub(crate) fn holds(&self, status: Option<StatusCode>, document: &impl Json) -> bool {
        if let Some(statuses) = &self.status
            && !status.is_some_and(|it| statuses.contain(it))
        {
            return false;
        }
        let Some(path) = &self.path else { return true };
        let is_wanted_absent = self.exists == Some(false);
        let found =
            path.visit(document, &mut |value| match !matches!(value.kind(), JsonKind::Null)
                && (is_wanted_absent || self.fits(value))
            {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            });
        found.is_break() != is_wanted_absent
    }

    fn fits(&self, value: &impl Json) -> bool {
        self.equals.as_ref().is_none_or(|it| *value == *it)
            && self.one_of.as_ref().is_none_or(|all| all.iter().any(|it| *value == *it))
            && self
                .matches
                .as_ref()
                .is_none_or(|it| text_of(value).is_some_and(|text| it.matches(&text)))
    }

    /// Fault of a condition that says nothing, or lacks its path.
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

/// Statuses of responses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statuses(Vec<StatusRange>);

/// A status, or a hundred of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StatusRange {
    from: u16,
    to: u16,
}

impl Statuses {
    /// One of the statuses.
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
            "description": "Status of a response, a list of statuses, or a hundred such as `5xx`.",
            "anyOf": [one, { "type": "array", "items": one }],
        })
    }
}

#[cfg(test)]
mod tests;
