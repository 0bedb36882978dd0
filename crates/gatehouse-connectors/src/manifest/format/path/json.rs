//! JSON that paths lead through: the document of a response, or recorded JSON.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ptr;

use serde_json::{Number, Value};
use serde_json_path::JsonPath;

use crate::client::{Document, Members};

/// A JSON value, whatever holds it.
pub(crate) trait Json: Sized + PartialEq + PartialEq<Value> {
    /// The value, but for the members of an object.
    fn kind(&self) -> JsonKind<'_, Self>;

    /// An object's member.
    fn member(&self, name: &str) -> Option<&Self>;

    /// An object's members.
    fn members(&self) -> impl Iterator<Item = (&str, &Self)>;

    /// Values that a query selects.
    fn query(&self, query: &JsonPath) -> Vec<&Self>;
}

/// A JSON value, but for the members of an object.
pub(crate) enum JsonKind<'t, T> {
    Null,
    Bool(bool),
    Number(&'t Number),
    Text(&'t str),
    List(&'t [T]),
    Object,
}

impl Json for Value {
    fn kind(&self) -> JsonKind<'_, Self> {
        match self {
            Self::Null => JsonKind::Null,
            Self::Bool(truth) => JsonKind::Bool(*truth),
            Self::Number(number) => JsonKind::Number(number),
            Self::String(text) => JsonKind::Text(text),
            Self::Array(members) => JsonKind::List(members),
            Self::Object(_) => JsonKind::Object,
        }
    }

    fn member(&self, name: &str) -> Option<&Self> {
        self.as_object()?.get(name)
    }

    fn members(&self) -> impl Iterator<Item = (&str, &Self)> {
        self.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
    }

    fn query(&self, query: &JsonPath) -> Vec<&Self> {
        query.query(self).all()
    }
}

impl Json for Document {
    fn kind(&self) -> JsonKind<'_, Self> {
        match self {
            Self::Null => JsonKind::Null,
            Self::Bool(truth) => JsonKind::Bool(*truth),
            Self::Number(number) => JsonKind::Number(number),
            Self::Text(text) => JsonKind::Text(text),
            Self::List(members) => JsonKind::List(members),
            Self::Object(_) => JsonKind::Object,
        }
    }

    fn member(&self, name: &str) -> Option<&Self> {
        if let Self::Object(members) = self { members.get(name) } else { None }
    }

    fn members(&self) -> impl Iterator<Item = (&str, &Self)> {
        let members = if let Self::Object(members) = self { Some(members) } else { None };
        members.into_iter().flat_map(Members::iter)
    }

    fn query(&self, query: &JsonPath) -> Vec<&Self> {
        // The library goes through values of its own type only.
        let value = self.to_value();
        let found = query.query(&value).all();
        let mut originals: HashMap<*const Value, &Self> =
            found.iter().map(|found| (ptr::from_ref(*found), self)).collect();
        find_originals(self, &value, &mut originals);
        found
            .into_iter()
            .filter_map(|found| originals.get(&ptr::from_ref(found)).copied())
            .collect()
    }
}

/// Finds the places in a document whose copies are in `originals`.
fn find_originals<'d>(
    document: &'d Document,
    copy: &Value,
    originals: &mut HashMap<*const Value, &'d Document>,
) {
    if let Some(original) = originals.get_mut(&ptr::from_ref(copy)) {
        *original = document;
    }
    match (document, copy) {
        (Document::List(members), Value::Array(copies)) => {
            for (member, copy) in members.iter().zip(copies) {
                find_originals(member, copy, originals);
            }
        }
        (Document::Object(members), Value::Object(copies)) => {
            for ((_, member), copy) in members.iter().zip(copies.values()) {
                find_originals(member, copy, originals);
            }
        }
        _ => {}
    }
}

/// A single value as text: a string, a number's digits, `true` or `false`. `None` for null, lists and objects, and for
/// numbers whose digits were lost.
pub(crate) fn text_of(value: &impl Json) -> Option<Cow<'_, str>> {
    /// Floats hold every whole number up to here exactly.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    match value.kind() {
        JsonKind::Text(text) => Some(text.into()),
        JsonKind::Bool(truth) => Some(if truth { "true" } else { "false" }.into()),
        JsonKind::Number(number) if number.is_f64() => {
            let float = number.as_f64()?;
            let is_whole = float.fract() == 0.0 && float.abs() < EXACT_MAX;
            let text = if is_whole { format!("{float:.0}") } else { number.to_string() };
            (float.abs() < EXACT_MAX).then_some(text.into())
        }
        JsonKind::Number(number) => Some(number.to_string().into()),
        JsonKind::Null | JsonKind::List(_) | JsonKind::Object => None,
    }
}
