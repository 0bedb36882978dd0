//! Labels as arguments: `site=hamburg` sets a label, `old-` removes one, `site` alone selects any value.

use gatehouse_core::{LabelKey, LabelValue};
use serde_json::{Map, Value};

/// A label to set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    key: LabelKey,
    value: LabelValue,
}

/// A label to set or to remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LabelChange {
    /// Sets the label.
    Set(Label),
    /// Removes the label with this key.
    Remove(LabelKey),
}

/// A condition on a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LabelCondition {
    /// The name in a filter.
    pub(crate) name: String,
    /// The value; `None` for any.
    pub(crate) value: Option<String>,
}

/// Parses `KEY=VALUE`.
pub(crate) fn parse_label(text: &str) -> Result<Label, String> {
    let (key, value) = text.split_once('=').ok_or("must be KEY=VALUE, such as site=hamburg")?;
    Ok(Label {
        key: parse_key(key)?,
        value: value.parse().map_err(|bad| format!("the value {bad}"))?,
    })
}

/// Parses `KEY=VALUE` or `KEY-`.
pub(crate) fn parse_change(text: &str) -> Result<LabelChange, String> {
    match text.strip_suffix('-').filter(|_| !text.contains('=')) {
        Some(key) => Ok(LabelChange::Remove(parse_key(key)?)),
        None => parse_label(text)
            .map(LabelChange::Set)
            .map_err(|bad| format!("{bad}; KEY- removes a label")),
    }
}

/// Parses `KEY=VALUE`, or `KEY` for any value.
pub(crate) fn parse_condition(text: &str) -> Result<LabelCondition, String> {
    let (key, value) = match text.split_once('=') {
        Some(_) => {
            let Label { key, value } = parse_label(text)?;
            (key, Some(value.to_string()))
        }
        None => (parse_key(text)?, None),
    };
    Ok(LabelCondition { name: format!("label.{key}"), value })
}

fn parse_key(key: &str) -> Result<LabelKey, String> {
    key.parse().map_err(|bad| format!("the key {bad}"))
}

/// Labels as a field of a body; `None` without any.
pub(crate) fn as_body(labels: &[Label]) -> Option<Value> {
    let fields = labels.iter().map(|it| (it.key.to_string(), it.value.as_str().into()));
    let fields: Map<String, Value> = fields.collect();
    (!fields.is_empty()).then_some(Value::Object(fields))
}

/// A change of labels as a field of a body.
pub(crate) fn as_patch(changes: &[LabelChange]) -> Value {
    let field = |change: &LabelChange| match change {
        LabelChange::Set(Label { key, value }) => (key.to_string(), value.as_str().into()),
        LabelChange::Remove(key) => (key.to_string(), Value::Null),
    };
    Value::Object(changes.iter().map(field).collect())
}

/// The labels of an access in one line.
pub(crate) fn shown(access: &Value) -> String {
    let labels = access["labels"].as_object().into_iter().flatten();
    let pairs = labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()));
    pairs.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_change_sets_or_removes() {
        let changes =
            ["site=hamburg", "old-", "a-=b=c-", "a--"].map(|it| parse_change(it).unwrap());
        assert_eq!(as_patch(&changes), json!({"site": "hamburg", "old": null, "a-": null}));
        for bad in ["site", "", "-", "Site=x", "site=", "=x", "Site-"] {
            assert!(parse_change(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_condition_compares_or_asks_for_any_value() {
        let of_site = |value: Option<&str>| {
            Ok(LabelCondition { name: "label.site".into(), value: value.map(str::to_owned) })
        };
        assert_eq!(parse_condition("site=a&b"), of_site(Some("a&b")));
        assert_eq!(parse_condition("site"), of_site(None));
        assert!(parse_condition("Site").is_err() && parse_condition("site=").is_err());
    }
}
