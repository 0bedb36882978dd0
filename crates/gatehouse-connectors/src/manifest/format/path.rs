//! JSONPath (RFC 9535): paths into a response.

use std::borrow::Cow;
use std::fmt;
use std::ops::ControlFlow;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use serde_json_path::JsonPath;

/// A JSONPath such as `$.status.description`.
#[derive(Clone, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(try_from = "String")]
#[cfg_attr(test, schemars(with = "String", extend("pattern" = "^\\$")))]
pub(crate) struct Path {
    /// Normalised text.
    text: String,
    meaning: JsonPath,
    /// The steps of a path that has only plain names, indexes and `*`. Most are such, and a step is much cheaper than
    /// a query.
    steps: Option<Vec<Step>>,
}

#[derive(Clone, PartialEq)]
#[cfg_attr(test, derive(Debug))]
enum Step {
    Name(String),
    Index(usize),
    /// Every member of a list or an object.
    Each,
}

impl Path {
    /// All values, in the document's order.
    pub(crate) fn all<'v>(&self, document: &'v Value) -> Vec<&'v Value> {
        let mut all = Vec::new();
        self.for_each(document, &mut |value| all.push(value));
        all
    }

    /// The first value.
    pub(crate) fn first<'v>(&self, document: &'v Value) -> Option<&'v Value> {
        self.visit(document, &mut ControlFlow::Break).break_value()
    }

    /// Visits all values, in the document's order.
    pub(crate) fn for_each<'v>(&self, document: &'v Value, visitor: &mut impl FnMut(&'v Value)) {
        let _ = self.visit(document, &mut |value| {
            visitor(value);
            ControlFlow::<()>::Continue(())
        });
    }

    /// Visits the values in the document's order, until the visitor breaks.
    pub(crate) fn visit<'v, B>(
        &self,
        document: &'v Value,
        visitor: &mut impl FnMut(&'v Value) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        match &self.steps {
            Some(steps) => visit(steps, document, visitor),
            None => self.meaning.query(document).into_iter().try_for_each(visitor),
        }
    }

    /// Whether it leads to a single place, which can be written to.
    pub(crate) fn is_single(&self) -> bool {
        self.steps.as_ref().is_some_and(|steps| !steps.contains(&Step::Each))
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
                Step::Each => return,
            };
        }
        *at = value;
    }
}

fn visit<'v, B>(
    steps: &[Step],
    at: &'v Value,
    visitor: &mut impl FnMut(&'v Value) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let Some((step, further)) = steps.split_first() else { return visitor(at) };
    let visit_next = |next| visit(further, next, visitor);
    match (step, at) {
        (Step::Name(name), Value::Object(members)) => {
            members.get(name).into_iter().try_for_each(visit_next)
        }
        (Step::Index(index), Value::Array(members)) => {
            members.get(*index).map_or(ControlFlow::Continue(()), visit_next)
        }
        (Step::Each, Value::Array(members)) => members.iter().try_for_each(visit_next),
        (Step::Each, Value::Object(members)) => members.values().try_for_each(visit_next),
        _ => ControlFlow::Continue(()),
    }
}

/// The steps of a path of plain names, indexes and `*`.
fn steps(text: &str) -> Option<Vec<Step>> {
    let mut rest = text.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(behind) = rest.strip_prefix('.') {
            let end = behind.find(['.', '[']).unwrap_or(behind.len());
            let (name, behind) = behind.split_at(end);
            let is_plain = |it: char| it.is_alphanumeric() || it == '_';
            steps.push(match name {
                "*" => Step::Each,
                name if !name.is_empty() && name.chars().all(is_plain) => {
                    Step::Name(name.to_owned())
                }
                _ => return None,
            });
            rest = behind;
        } else {
            let (inner, behind) = rest.strip_prefix('[')?.split_once(']')?;
            steps.push(match (inner, inner.parse()) {
                ("*", _) => Step::Each,
                (_, Ok(index)) => Step::Index(index),
                _ => {
                    let quote = inner.chars().next().filter(|it| ['\'', '"'].contains(it))?;
                    let name = inner.strip_prefix(quote)?.strip_suffix(quote)?;
                    // Several names, or one with an escape in it.
                    if name.contains(['\'', '"', '\\']) {
                        return None;
                    }
                    Step::Name(name.to_owned())
                }
            });
            rest = behind;
        }
    }
    Some(steps)
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
        Ok(Self { steps: steps(&text), text, meaning })
    }
}

#[cfg(any(test, fuzzing))]
impl Path {
    /// Fails unless steps and query select the same values.
    pub(in crate::manifest) fn assert_steps_are_the_query(&self, document: &Value) {
        assert_eq!(self.all(document), self.meaning.query(document).all(), "{self}");
        assert_eq!(self.first(document), self.meaning.query(document).first(), "{self}");
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

/// A single value as text: a string, a number's digits, `true` or `false`. `None` for null, lists and objects, and for
/// numbers whose digits were lost.
pub(crate) fn text_of(value: &Value) -> Option<Cow<'_, str>> {
    /// Floats hold every whole number up to here exactly.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::String(text) => Some(text.into()),
        Value::Bool(truth) => Some(if *truth { "true" } else { "false" }.into()),
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64()?;
            let is_whole = float.fract() == 0.0 && float.abs() < EXACT_MAX;
            let text = if is_whole { format!("{float:.0}") } else { number.to_string() };
            (float.abs() < EXACT_MAX).then_some(text.into())
        }
        Value::Number(number) => Some(number.to_string().into()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests;
