//! Look-ups: how to find connections by id or number.

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

/// How to look up connections, by id and by each kind of number.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct LookUps {
    /// By the platform's id.
    pub(crate) id: LookUp,
    /// By the ICCID of a SIM card.
    pub(crate) iccid: LookUp,
    /// By the IMSI of a subscription.
    pub(crate) imsi: LookUp,
    /// By the MSISDN, the phone number.
    pub(crate) msisdn: LookUp,
    /// By the serial number of a terminal.
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

    /// The searches, to be changed.
    pub(crate) fn searches_mut(&mut self) -> impl Iterator<Item = &mut Search> {
        let Self { id, iccid, imsi, msisdn, serial_number } = self;
        let all = [id, iccid, imsi, msisdn, serial_number].into_iter();
        all.filter_map(|it| match it {
            LookUp::Searched(search) => Some(&mut **search),
            LookUp::NeverCarried | LookUp::NotSearchable => None,
        })
    }

    /// All look-ups, by the names of their fields.
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

/// A look-up by one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LookUp {
    /// The platform's connections never have such a number: no call is made.
    NeverCarried,
    /// Connections have the number, but the platform can't search for it: a short list is scanned.
    NotSearchable,
    /// The platform can search for it.
    Searched(Box<Search>),
}

/// How to search a platform for connections.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Search {
    /// The call.
    pub(crate) call: Call,
    /// Most values per call.
    #[serde(default = "Search::one")]
    pub(crate) at_once: u32,
    /// Path to the connections in the response: a list, or a single one.
    pub(crate) items: Path,
    /// Whether the platform returns exact matches, or similar values too: documentation for people who read the
    /// manifest. Every result is checked anyway.
    #[serde(default, rename = "match")]
    pub(crate) matching: Match,
    /// Pattern that a value must match to be searched for; others don't exist on the platform.
    #[serde(default)]
    pub(crate) only: Option<Pattern>,
    /// Whether the response also has the parts that `detail` would read.
    #[serde(default)]
    pub(crate) is_detailed: bool,
}

/// Exactness of a search's results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Match {
    /// Exact matches.
    #[default]
    Exact,
    /// Similar values too.
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
    /// The search; `None` if the platform can't search by this key.
    pub(crate) fn search(&self) -> Option<&Search> {
        match self {
            Self::Searched(search) => Some(search),
            Self::NeverCarried | Self::NotSearchable => None,
        }
    }

    /// The look-up as the engine knows it.
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
            "description": "A look-up by one key.",
            "anyOf": [{ "enum": ["never_carried", "not_searchable"] }, search],
        })
    }
}
