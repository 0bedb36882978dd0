//! Custom properties, in every structure that platforms use.

use gatehouse_core::product::Property;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use smol_str::SmolStr;

use super::path::{Json, Path, text_of};
use super::pattern::Pattern;
use super::selection::Selection;

/// A source of properties: `name` and `value`; or the `entries` of an object, optionally limited by `keys`; or for
/// `each` of several parts, `name_from` and `value`, or further `properties`. Empty and null values give none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct PropertyRule {
    /// Name of the property.
    #[serde(default)]
    pub(crate) name: Option<String>,
    /// Values: each gives a property.
    #[serde(default)]
    pub(crate) value: Option<Selection>,
    /// An object: each member gives a property.
    #[serde(default)]
    pub(crate) entries: Option<Path>,
    /// Pattern that the names of members must match as a whole.
    #[serde(default)]
    pub(crate) keys: Option<Pattern>,
    /// Parts of the document: inner paths begin at each of them.
    #[serde(default)]
    pub(crate) each: Option<Path>,
    /// Path to the name in each part.
    #[serde(default)]
    pub(crate) name_from: Option<Path>,
    /// Properties of each part.
    #[serde(default)]
    pub(crate) properties: Vec<PropertyRule>,
}

impl PropertyRule {
    /// Adds the properties of a document.
    pub(crate) fn collect(&self, document: &impl Json, found: &mut Vec<Property>) {
        match &self.each {
            Some(each) => each.for_each(document, &mut |part| self.collect_part(part, found)),
            None => self.collect_part(document, found),
        }
    }

    /// Adds the properties of a part that paths begin at.
    fn collect_part(&self, document: &impl Json, found: &mut Vec<Property>) {
        for rule in &self.properties {
            rule.collect(document, found);
        }
        let name = match (&self.name, &self.name_from) {
            (Some(name), _) => Some(name.into()),
            (None, Some(path)) => path.first(document).and_then(text_of).map(SmolStr::from),
            (None, None) => None,
        };
        if let (Some(name), Some(value)) = (name.filter(|it| !it.is_empty()), &self.value) {
            let values = value.texts(document).into_iter();
            found.extend(values.map(|value| Property { name: name.clone(), value }));
        }
        if let Some(entries) = &self.entries {
            for (name, value) in entries.all(document).into_iter().flat_map(Json::members) {
                let is_meant = self.keys.as_ref().is_none_or(|it| it.matches(name));
                if let Some(value) = text_of(value).filter(|it| is_meant && !it.is_empty()) {
                    found.push(Property { name: name.into(), value: value.into() });
                }
            }
        }
    }

    /// The rule's fault, if any.
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
