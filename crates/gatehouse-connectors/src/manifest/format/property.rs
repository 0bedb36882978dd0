//! Custom properties: what a customer wrote on a connection, in whichever shape the platform keeps it.

use gatehouse_core::product::Property;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::path::{Path, text_of};
use super::pattern::Pattern;
use super::selection::Selection;

/// One source of properties: `name` and `value`; or `entries` of an object, perhaps only those with certain `keys`;
/// or for `each` of several parts, `name_from` and `value`, or further `properties`. What is empty or null gives none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct PropertyRule {
    /// The name of the property.
    #[serde(default)]
    pub(crate) name: Option<String>,
    /// Its values: each gives a property.
    #[serde(default)]
    pub(crate) value: Option<Selection>,
    /// An object: each of its members gives a property.
    #[serde(default)]
    pub(crate) entries: Option<Path>,
    /// Which members of the object: those whose names are like this, from beginning to end.
    #[serde(default)]
    pub(crate) keys: Option<Pattern>,
    /// Several parts of the document, each looked at by itself: paths then begin there.
    #[serde(default)]
    pub(crate) each: Option<Path>,
    /// Where in each part the name is.
    #[serde(default)]
    pub(crate) name_from: Option<Path>,
    /// What each part gives.
    #[serde(default)]
    pub(crate) properties: Vec<PropertyRule>,
}

impl PropertyRule {
    /// Adds the properties of a document.
    pub(crate) fn collect(&self, document: &Value, found: &mut Vec<Property>) {
        if let Some(each) = &self.each {
            for part in each.all(document) {
                let inner = Self { each: None, ..self.clone() };
                inner.collect(part, found);
            }
            return;
        }
        for rule in &self.properties {
            rule.collect(document, found);
        }
        let name = match (&self.name, &self.name_from) {
            (Some(name), _) => Some(name.clone()),
            (None, Some(path)) => path.first(document).and_then(text_of),
            (None, None) => None,
        };
        if let (Some(name), Some(value)) = (name.filter(|it| !it.is_empty()), &self.value) {
            let values = value.texts(document).into_iter();
            found.extend(
                values.map(|value| Property { name: name.as_str().into(), value: value.into() }),
            );
        }
        if let Some(entries) = &self.entries {
            let objects = entries.all(document).into_iter().filter_map(Value::as_object);
            for (name, value) in objects.flatten() {
                let is_meant = self.keys.as_ref().is_none_or(|it| it.matches(name));
                if let Some(value) = text_of(value).filter(|it| is_meant && !it.is_empty()) {
                    found.push(Property { name: name.as_str().into(), value: value.into() });
                }
            }
        }
    }

    /// What is wrong with it.
    pub(in crate::manifest) fn fault(&self) -> Option<&'static str> {
        let is_named = self.name.is_some() || self.name_from.is_some();
        let has =
            [is_named || self.value.is_some(), self.entries.is_some(), !self.properties.is_empty()];
        if has.iter().filter(|it| **it).count() != 1 {
            return Some("must have `name` and `value`, or `entries`, or `each` with `properties`");
        }
        if is_named != self.value.is_some() {
            return Some("must have both a name (`name` or `name_from`) and `value`");
        }
        if self.name.is_some() && self.name_from.is_some() {
            return Some("must have `name` or `name_from`, not both");
        }
        if self.keys.is_some() && self.entries.is_none() {
            return Some("has `keys`, which are those of `entries`");
        }
        self.properties.iter().find_map(Self::fault)
    }
}

#[cfg(test)]
mod tests;
