//! Look-ups: how a platform is asked for connections that carry something.

use std::fmt;

#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::call::Call;
use super::path::Path;
use super::pattern::Pattern;
use crate::connector::{self, LookUpKey};
use gatehouse_core::IdentifierKind;

/// How connections are looked up, by what they are called and by each kind of number.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct LookUps {
    /// By what the platform calls them.
    pub(crate) id: LookUp,
    /// By the number of a card.
    pub(crate) iccid: LookUp,
    /// By the number of a subscription.
    pub(crate) imsi: LookUp,
    /// By the number that is called.
    pub(crate) msisdn: LookUp,
    /// By the number of a terminal.
    pub(crate) serial_number: LookUp,
}

impl LookUps {
    pub(crate) fn by(&self, by: LookUpKey) -> &LookUp {
        match by {
            LookUpKey::Id => &self.id,
            LookUpKey::Number(IdentifierKind::Iccid) => &self.iccid,
            LookUpKey::Number(IdentifierKind::Imsi) => &self.imsi,
            LookUpKey::Number(IdentifierKind::Msisdn) => &self.msisdn,
            LookUpKey::Number(IdentifierKind::SerialNumber) => &self.serial_number,
        }
    }

    /// All of them, by the names of their fields.
    pub(crate) fn all(&self) -> [(&'static str, &LookUp); 5] {
        [
            ("id", &self.id),
            ("iccid", &self.iccid),
            ("imsi", &self.imsi),
            ("msisdn", &self.msisdn),
            ("serial_number", &self.serial_number),
        ]
    }
}

/// How connections are looked up in one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LookUp {
    /// The platform's connections never carry one: nobody is asked.
    NeverCarried,
    /// They carry them, and the platform can't be asked for them: its list is looked through, where it is short.
    NotSearchable,
    /// The platform is asked.
    Searched(Box<Search>),
}

/// How a platform is asked for connections.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Search {
    /// What is asked.
    pub(crate) call: Call,
    /// How many can be asked for at once.
    #[serde(default = "Search::one")]
    pub(crate) at_once: u32,
    /// Where in the answer the connections are: a list, or a single one.
    pub(crate) items: Path,
    /// Whether the platform answers with the one that is meant, or also with what is alike. What is meant is
    /// checked in any case; this is for people.
    #[serde(default, rename = "match")]
    pub(crate) matching: Match,
    /// What a value must be like to be asked for; others are nowhere.
    #[serde(default)]
    pub(crate) only: Option<Pattern>,
    /// Whether the answer also holds what `detail` would be asked for.
    #[serde(default)]
    pub(crate) is_detailed: bool,
}

/// What a platform answers with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Match {
    /// With the one that is meant.
    #[default]
    Exact,
    /// Also with what is alike.
    Partial,
}

/// Most values in one look-up.
pub(in crate::manifest) const AT_ONCE_MAX: u32 = 1000;

impl Search {
    fn one() -> u32 {
        1
    }
}

impl LookUp {
    /// The same, as the engine knows it.
    pub(crate) fn capability(&self) -> connector::LookUp {
        match self {
            Self::NeverCarried => connector::LookUp::NeverCarried,
            Self::NotSearchable => connector::LookUp::NotSearchable,
            Self::Searched(search) => connector::LookUp::Searched { values_max: search.at_once },
        }
    }
}

impl<'de> Deserialize<'de> for LookUp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = LookUp;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "`never_carried`, `not_searchable`, or how it is asked (`call`, `items`)",
                )
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<LookUp, E> {
                match text {
                    "never_carried" => Ok(LookUp::NeverCarried),
                    "not_searchable" => Ok(LookUp::NotSearchable),
                    other => Err(E::custom(format!(
                        "must be never_carried, not_searchable, or how it is asked (`call`, `items`), \
                         not `{other}`"
                    ))),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LookUp, A::Error> {
                let search = Search::deserialize(MapAccessDeserializer::new(map))?;
                Ok(LookUp::Searched(Box::new(search)))
            }
        }
        deserializer.deserialize_any(Read)
    }
}

#[cfg(test)]
impl JsonSchema for LookUp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LookUp".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let search = generator.subschema_for::<Search>();
        json_schema!({
            "description": "How connections are looked up in one way.",
            "anyOf": [{ "enum": ["never_carried", "not_searchable"] }, search],
        })
    }
}
