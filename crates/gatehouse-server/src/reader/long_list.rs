//! A body with one long list: its elements are parsed as a stream, and not kept as a tree.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::json::{self, Json, Keep, is_kept};

/// Parser of a body with a long list.
pub(crate) struct LongList<'e> {
    /// The body's fields.
    pub(crate) known: &'static [&'static str],
    /// The name of the list.
    pub(crate) name: &'static str,
    /// The part of an element to keep.
    pub(crate) element: Keep,
    /// The part of the other fields to keep.
    pub(crate) others: Keep,
    /// Receives the elements, one by one.
    pub(crate) each: &'e mut dyn FnMut(Json),
}

impl LongList<'_> {
    /// Parses a body; the long list is empty in the result, since `each` has received its elements.
    pub(crate) fn parse(self, bytes: &[u8]) -> Result<Json, String> {
        json::parse(bytes, LongListVisitor::Body(self))
    }
}

/// Visitor of the body, or of its long list.
enum LongListVisitor<'e> {
    Body(LongList<'e>),
    List { element: Keep, each: &'e mut dyn FnMut(Json) },
}

impl<'de> DeserializeSeed<'de> for LongListVisitor<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// A value of a wrong kind is kept in outline, so that the fault can name its kind.
impl<'de> Visitor<'de> for LongListVisitor<'_> {
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
                let list = LongListVisitor::List { element: body.element, each: &mut *body.each };
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
