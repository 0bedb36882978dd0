//! JSONPath (RFC 9535): paths into a response.

mod json;
mod step;

use std::fmt;
use std::ops::ControlFlow;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use serde_json_path::JsonPath;

pub(crate) use self::json::{Json, JsonKind, text_of};
use self::step::Step;
#[cfg(any(test, fuzzing))]
use crate::client::Document;

/// A JSONPath such as `$.status.description`.
#[derive(Clone, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(try_from = "String")]
#[cfg_attr(test, schemars(with = "String", extend("pattern" = "^\\$")))]
pub(crate) struct Path {
    /// Normalised text.
    text: String,
    meaning: JsonPath,
    /// The steps of a path that needs no query. Most are such.
    steps: Option<Vec<Step>>,
}

impl Path {
    /// All values, in the document's order.
    pub(crate) fn all<'t, T: Json>(&self, document: &'t T) -> Vec<&'t T> {
        let mut all = Vec::new();
        self.for_each(document, &mut |value| all.push(value));
        all
    }

    /// The first value.
    pub(crate) fn first<'t, T: Json>(&self, document: &'t T) -> Option<&'t T> {
        self.visit(document, &mut ControlFlow::Break).break_value()
    }

    /// Visits all values, in the document's order.
    pub(crate) fn for_each<'t, T: Json>(&self, document: &'t T, visitor: &mut impl FnMut(&'t T)) {
        let _ = self.visit(document, &mut |value| {
            visitor(value);
            ControlFlow::<()>::Continue(())
        });
    }

    /// Visits the values in the document's order, until the visitor breaks.
    pub(crate) fn visit<'t, T: Json, B>(
        &self,
        document: &'t T,
        visitor: &mut impl FnMut(&'t T) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        match &self.steps {
            Some(steps) => step::visit(steps, document, document, visitor),
            None => document.query(&self.meaning).into_iter().try_for_each(visitor),
        }
    }

    /// Whether it leads to a single place, which can be written to.
    pub(crate) fn is_single(&self) -> bool {
        self.steps.as_ref().is_some_and(|steps| steps.iter().all(Step::is_single))
    }

    /// Writes a value there, and creates missing objects and lists on the path. Does nothing for a path that isn't
    /// single.
    pub(crate) fn write(&self, document: &mut Value, value: Value) {
        let Some(steps) = self.steps.as_ref().filter(|_| self.is_single()) else { return };
        let mut at = document;
        for step in steps {
            at = match step {
                Step::Name(name) => {
                    if !at.is_object() {
                        *at = Value::Object(Map::new());
                    }
                    &mut at[name.as_str()]
                }
                Step::Index(index) => {
                    if !at.is_array() {
                        *at = Value::Array(Vec::new());
                    }
                    if let Value::Array(members) = at
                        && members.len() <= *index
                    {
                        members.resize(index + 1, Value::Null);
                    }
                    &mut at[*index]
                }
                Step::Each | Step::Matching(_) => return,
            };
        }
        *at = value;
    }
}

/// Limits on a path: parsing takes time and stack space.
const CHARS_MAX: usize = 1000;
const NESTED_MAX: usize = 10;

impl TryFrom<String> for Path {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let n_nested = text.matches(['(', '?']).count();
        if text.len() > CHARS_MAX || n_nested > NESTED_MAX {
            return Err(format!(
                "must have at most {CHARS_MAX} characters, and at most {NESTED_MAX} `?` and `(` in them"
            ));
        }
        let meaning = JsonPath::parse(&text).map_err(|error| {
            format!(
                "must be a JSONPath such as `$.data` or `$.items[0].name` (RFC 9535), not `{text}`: \
                 {error}"
            )
        })?;
        // The library prints some paths wrongly, `$..*` as `$...*`.
        let printed = meaning.to_string();
        let is_same = JsonPath::parse(&printed).is_ok_and(|it| it == meaning);
        let text = if is_same { printed } else { text };
        Ok(Self { steps: Step::parse(&text), text, meaning })
    }
}

#[cfg(any(test, fuzzing))]
impl Path {
    /// Fails unless steps and query select the same values, in a response too.
    pub(in crate::manifest) fn assert_steps_are_the_query(&self, document: &Value) {
        let found = self.meaning.query(document).all();
        assert_eq!(self.all(document), found, "{self}");
        assert_eq!(self.first(document), found.first().copied(), "{self}");
        let parsed: Document = serde_json::from_str(&document.to_string()).expect("it is JSON");
        let values = self.all(&parsed).into_iter().map(Document::to_value);
        assert!(values.eq(found.into_iter().cloned()), "{self}");
    }
}

impl PartialEq for Path {
    fn eq(&self, other: &Self) -> bool {
        self.meaning == other.meaning
    }
}

impl Eq for Path {}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Path({self})")
    }
}

#[cfg(test)]
mod tests;
