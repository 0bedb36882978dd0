//! Details: what a platform's list leaves out of connections, and how it is asked for.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use super::call::Call;
use super::path::Path;
use super::product::Additions;
use crate::connector::LookUpKey;
use gatehouse_core::IdentifierKind;

/// What the list leaves out. It is asked for only where a request wants to know it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Detail {
    /// What is asked, for each connection or for many of them.
    pub(crate) call: Call,
    /// What `{value}` is of a connection.
    #[serde(default)]
    pub(crate) by: DetailBy,
    /// For how many connections it can be asked for at once.
    #[serde(default = "Detail::one")]
    pub(crate) at_once: u32,
    /// Where in the answer it is: a list, or a single one.
    pub(crate) items: Path,
    /// Where each of them says which connection it belongs to, by the same as `by`. Needed where several are asked
    /// for at once.
    #[serde(default)]
    pub(crate) belongs_to: Option<Path>,
    /// What each of them adds to its connection.
    pub(crate) adds: Additions,
}

/// What details are asked for by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum DetailBy {
    /// What the platform calls a connection.
    #[default]
    Id,
    /// The number of its card.
    Iccid,
    /// The number of its subscription.
    Imsi,
    /// The number that is called.
    Msisdn,
    /// The number of its terminal.
    SerialNumber,
}

impl Detail {
    fn one() -> u32 {
        1
    }
}

impl From<DetailBy> for LookUpKey {
    fn from(by: DetailBy) -> Self {
        match by {
            DetailBy::Id => Self::Id,
            DetailBy::Iccid => Self::Number(IdentifierKind::Iccid),
            DetailBy::Imsi => Self::Number(IdentifierKind::Imsi),
            DetailBy::Msisdn => Self::Number(IdentifierKind::Msisdn),
            DetailBy::SerialNumber => Self::Number(IdentifierKind::SerialNumber),
        }
    }
}
