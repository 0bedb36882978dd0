//! Sources: a value in the body or a header of a response.

use std::borrow::Cow;
use std::fmt;

use http::{HeaderMap, HeaderName};
#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::path::{Json, Path, text_of};

/// A value of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// In the body.
    Body(Path),
    /// In a header.
    Header(HeaderName),
}

impl Source {
    /// The value as text; `None` if missing or empty.
    pub(crate) fn text(&self, headers: &HeaderMap, body: &impl Json) -> Option<String> {
        let text = match self {
            Self::Body(path) => path.first(body).and_then(text_of).map(Cow::into_owned),
            Self::Header(name) => {
                headers.get(name).and_then(|it| it.to_str().ok()).map(str::to_owned)
            }
        };
        text.filter(|it| !it.is_empty())
    }
}

/// The long notation.
#[derive(Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
enum Written {
    /// A path into the body.
    Body(Path),
    /// Name of a header.
    Header(String),
}

/// Parses the name of a header.
pub(in crate::manifest) fn header_name(text: &str) -> Result<HeaderName, String> {
    HeaderName::from_bytes(text.as_bytes())
        .map_err(|_| format!("must be the name of a header such as `X-Total-Count`, not `{text}`"))
}

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Source;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSONPath, `body: $.path` or `header: X-Name`")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Source, E> {
                Path::try_from(text.to_owned()).map(Source::Body).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Source, A::Error> {
                match Written::deserialize(MapAccessDeserializer::new(map))? {
                    Written::Body(path) => Ok(Source::Body(path)),
                    Written::Header(name) => {
                        header_name(&name).map(Source::Header).map_err(serde::de::Error::custom)
                    }
                }
            }
        }
        deserializer.deserialize_any(Read)
    }
}

#[cfg(test)]
impl JsonSchema for Source {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Source".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (path, written) = (generator.subschema_for::<Path>(), Written::json_schema(generator));
        json_schema!({
            "description": "A value of a response: a JSONPath into its body, or `header: X-Name`.",
            "anyOf": [path, written],
        })
    }
}

#[cfg(test)]
mod tests;
