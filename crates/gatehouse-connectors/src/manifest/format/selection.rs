//! Selections: values of a document that become a product's numbers, names or values.

use std::fmt;
use std::ops::ControlFlow;

use indexmap::IndexSet;
#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use smol_str::SmolStr;

use super::path::{Json, JsonKind, Path, text_of};
use super::transform::Transform;

/// Values of a document: one path, several paths, or a path with transforms. Empty values and duplicates are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selection(Vec<Pick>);

/// Values at one path.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Pick {
    /// Part of the document at which `path` begins, so that filters can compare within it.
    #[serde(default)]
    pub(crate) within: Option<Path>,
    /// Path to the values.
    pub(crate) path: Path,
    /// Transforms, in order.
    #[serde(default)]
    pub(crate) transforms: Vec<Transform>,
}

impl Selection {
    /// The values in order, without duplicates.
    pub(crate) fn texts(&self, document: &impl Json) -> Vec<SmolStr> {
        let mut texts = Vec::new();
        self.0.iter().for_each(|pick| pick.collect(document, &mut texts));
        texts.retain(|it| !it.is_empty());
        if texts.len() < 2 {
            return texts;
        }
        // A set, since there may be as many as fit into an answer.
        texts.into_iter().collect::<IndexSet<_>>().into_iter().collect()
    }

    /// Whether a number has lost digits: more than JSON numbers are parsed with.
    pub(crate) fn loses_digits(&self, document: &impl Json) -> bool {
        fn has_lost_digits<T: Json>(value: &T) -> ControlFlow<()> {
            match matches!(value.kind(), JsonKind::Number(_)) && text_of(value).is_none() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
        self.0.iter().any(|pick| pick.visit(document, &mut has_lost_digits).is_break())
    }

    /// The first value.
    pub(crate) fn first(&self, document: &impl Json) -> Option<SmolStr> {
        self.texts(document).into_iter().next()
    }

    /// Its parts.
    pub(crate) fn picks(&self) -> &[Pick] {
        &self.0
    }
}

impl Pick {
    fn visit<'t, T: Json, B>(
        &self,
        document: &'t T,
        visitor: &mut impl FnMut(&'t T) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        match &self.within {
            Some(within) => within.visit(document, &mut |root| self.path.visit(root, visitor)),
            None => self.path.visit(document, visitor),
        }
    }

    /// Adds its values as texts: a list gives those of its members.
    fn collect(&self, document: &impl Json, texts: &mut Vec<SmolStr>) {
        let n_before = texts.len();
        let _ = self.visit(document, &mut |value| {
            match value.kind() {
                JsonKind::List(members) => {
                    texts.extend(members.iter().filter_map(text_of).map(SmolStr::from));
                }
                _ => texts.extend(text_of(value).map(SmolStr::from)),
            }
            ControlFlow::<()>::Continue(())
        });
        if !self.transforms.is_empty() {
            let own = texts.split_off(n_before);
            texts.extend(self.transforms.iter().fold(own, |own, transform| transform.all(own)));
        }
    }
}

impl<'de> Deserialize<'de> for Selection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Selection;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSONPath, a list of them, or `path` with `transforms`")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Selection, E> {
                let path = Path::try_from(text.to_owned()).map_err(E::custom)?;
                Ok(Selection(vec![Pick { within: None, path, transforms: Vec::new() }]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Selection, A::Error> {
                let mut picks = Vec::new();
                while let Some(Selection(more)) = seq.next_element()? {
                    picks.extend(more);
                }
                Ok(Selection(picks))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Selection, A::Error> {
                let pick = Pick::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Selection(vec![pick]))
            }
        }
        deserializer.deserialize_any(Read)
    }
}

#[cfg(test)]
impl JsonSchema for Selection {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Selection".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (path, pick) = (generator.subschema_for::<Path>(), generator.subschema_for::<Pick>());
        json_schema!({
            "description": "Values of a document: a JSONPath, a list of them, or a path with transforms.",
            "anyOf": [path, pick, { "type": "array", "items": { "anyOf": [path, pick] } }],
        })
    }
}

#[cfg(test)]
mod tests;
