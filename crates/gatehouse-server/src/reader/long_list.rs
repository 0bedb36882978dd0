//! A body with one list that may be long: its elements are read as they come, and not kept as a tree.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::json::{self, Json, Keep, is_kept};

/// How a body with a long list is read.
pub(crate) struct LongList<'e> {
    /// The fields that the body may have.
    pub(crate) known: &'static [&'static str],
    /// Which of them is the list.
    pub(crate) name: &'static str,
    /// How much is kept of an element.
    pub(crate) element: Keep,
    /// How much is kept of the other fields.
    pub(crate) others: Keep,
    /// Takes the elements, one by one.
    pub(crate) each: &'e mut dyn FnMut(Json),
}

impl LongList<'_> {
    /// Reads a body as [`Json::parse`] does, but keeps less of it: the long list is empty in what this
    /// gives, since its elements have gone where they are taken.
    pub(crate) fn parse(self, bytes: &[u8]) -> Result<Json, String> {
        json::parse(bytes, Reading::Body(self))
    }
}

/// What is being read.
enum Reading<'e> {
    Body(LongList<'e>),
    List { element: Keep, each: &'e mut dyn FnMut(Json) },
}

impl<'de> DeserializeSeed<'de> for Reading<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// What is of another kind than was hoped for is kept in outline, so that its kind can be told.
impl<'de> Visitor<'de> for Reading<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Keep::Outline.expecting(f)
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Keep::Outline.visit_unit()
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Json, E> {
        Keep::Outline.visit_bool(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Json, E> {
        Keep::Outline.visit_i64(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Json, E> {
        Keep::Outline.visit_u64(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Json, E> {
        Keep::Outline.visit_f64(value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Json, E> {
        Keep::Outline.visit_str(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Json, A::Error> {
        let Self::List { element, each } = self else { return Keep::Outline.visit_seq(sequence) };
        while let Some(element) = sequence.next_element_seed(element)? {
            each(element);
        }
        Ok(Json::List(Vec::new()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let Self::Body(body) = self else { return Keep::Outline.visit_map(map) };
        let mut fields: Vec<(String, Json)> = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            let is_list = name == body.name && !fields.iter().any(|(other, _)| *other == name);
            let value = if is_list {
                let list = Reading::List { element: body.element, each: &mut *body.each };
                map.next_value_seed(list)?
            } else {
                map.next_value_seed(body.others)?
            };
            if is_kept(&name, body.known, &fields) {
                fields.push((name, value));
            }
        }
        Ok(Json::Object(fields))
    }
}
