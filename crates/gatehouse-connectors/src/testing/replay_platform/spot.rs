//! A single place in a document, which can be written to.

use serde_json::{Map, Value};

use crate::manifest::format::path::Path;

/// A single place in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::testing::replay_platform) struct Spot(Vec<Step>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Name(String),
    Index(usize),
}

impl Spot {
    /// The place that a path leads to, where that is a single one.
    pub(in crate::testing::replay_platform) fn of(path: &Path) -> Option<Self> {
        let text = path.to_string();
        let mut rest = text.strip_prefix('$')?;
        let mut steps = Vec::new();
        while !rest.is_empty() {
            if let Some(behind) = rest.strip_prefix('.') {
                let end = behind.find(['.', '[']).unwrap_or(behind.len());
                let (name, behind) = behind.split_at(end);
                if name.is_empty() || name == "*" {
                    return None;
                }
                steps.push(Step::Name(name.to_owned()));
                rest = behind;
            } else {
                let (inner, behind) = rest.strip_prefix('[')?.split_once(']')?;
                steps.push(match inner.parse() {
                    Ok(index) => Step::Index(index),
                    Err(_) => {
                        let quote = inner.chars().next().filter(|it| ['\'', '"'].contains(it))?;
                        Step::Name(inner.strip_prefix(quote)?.strip_suffix(quote)?.to_owned())
                    }
                });
                rest = behind;
            }
        }
        Some(Self(steps))
    }

    /// Writes there.
    pub(in crate::testing::replay_platform) fn set(&self, document: &mut Value, value: Value) {
        let mut at = document;
        for step in &self.0 {
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
            };
        }
        *at = value;
    }
}
