//! A JSON value whose objects keep their duplicate keys.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::{FAULTS_MAX, TYPE_NAMES};

/// A JSON value, also parsed from YAML.
#[derive(Clone, PartialEq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// Any number.
    Number(serde_json::Number),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// An object, with duplicate keys.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Parses a body. The reason is a sentence that repeats no value of the body.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        parse(bytes, Keep::Whole)
    }

    /// The value without duplicate keys; `None` if an object has some.
    pub(crate) fn into_unique(self) -> Option<Value> {
        Some(match self {
            Self::Null => Value::Null,
            Self::Bool(value) => value.into(),
            Self::Number(value) => value.into(),
            Self::Text(value) => value.into(),
            Self::List(items) => {
                let items = items.into_iter().map(Self::into_unique);
                items.collect::<Option<Vec<Value>>>()?.into()
            }
            Self::Object(fields) => {
                let mut object = serde_json::Map::new();
                for (name, value) in fields {
                    if object.insert(name, value.into_unique()?).is_some() {
                        return None;
                    }
                }
                object.into()
            }
        })
    }

    /// The kind of the value, with its article.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }
}

/// Shows the kind of a value, never its content: it may be a password.
impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())
    }
}

/// Parses a body with a seed. The reason is a sentence that repeats no value of the body.
pub(super) fn parse<'de, S>(bytes: &'de [u8], seed: S) -> Result<S::Value, String>
where
    S: DeserializeSeed<'de>,
{
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err("the body is empty, and should be a JSON object".into());
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let read = seed.deserialize(&mut json);
    read.and_then(|value| json.end().map(|()| value)).map_err(|error| {
        let reason = error.to_string();
        if reason.starts_with("recursion limit") {
            return "the body is nested too deeply; 127 levels are allowed".into();
        }
        format!("the body can't be read as JSON: {reason}")
    })
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Keep::Whole)
    }
}

/// The part of a value that stays in memory. The parser checks all of it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Keep {
    /// Everything.
    Whole,
    /// Everything except the content of lists and objects.
    Outline,
    /// The outline, and the outlines of an object's fields: the first of each known field, and as many others as can
    /// be reported as faults.
    Fields(&'static [&'static str]),
    /// As `Fields`, with as many fields of one of the known fields as can be reported as faults.
    FieldsAndInside(&'static [&'static str], &'static str),
}

/// Whether to keep a field in addition to the `kept` ones.
pub(super) fn is_kept(name: &str, known: &[&str], kept: &[(String, Json)]) -> bool {
    let is_of_type = TYPE_NAMES.contains(&name);
    let is_expected = known.contains(&name) || is_of_type;
    let is_first = is_expected && !kept.iter().any(|(other, _)| other == name);
    // An ignored field is kept once, so that its duplicates don't displace faults.
    is_first || (!is_of_type && kept.len() < known.len() + TYPE_NAMES.len() + FAULTS_MAX)
}

impl<'de> DeserializeSeed<'de> for Keep {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Keep {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_none<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        // Only YAML has infinity, and no field accepts it.
        Ok(serde_json::Number::from_f64(value).map_or(Json::Null, Json::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        Ok(Json::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        match self {
            Self::Whole => {
                while let Some(item) = sequence.next_element_seed(self)? {
                    items.push(item);
                }
            }
            Self::Outline | Self::Fields(_) | Self::FieldsAndInside(..) => {
                while sequence.next_element_seed(Self::Outline)?.is_some() {}
            }
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut fields = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            let (inside, is_kept) = match self {
                Self::Whole => (self, true),
                Self::Outline => (self, false),
                Self::Fields(known) => (Self::Outline, is_kept(&name, known, &fields)),
                Self::FieldsAndInside(known, inside) => {
                    let keep = if name == inside { Self::Fields(&[]) } else { Self::Outline };
                    (keep, is_kept(&name, known, &fields))
                }
            };
            let value = map.next_value_seed(inside)?;
            if is_kept {
                fields.push((name, value));
            }
        }
        Ok(Json::Object(fields))
    }
}
