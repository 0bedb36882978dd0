//! Details: parts that a platform's list leaves out, and how to read them.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use super::call::Call;
use super::path::Path;
use super::product::Additions;
use crate::connector::LookUpKey;
use gatehouse_core::IdentifierKind;

/// Parts that the list leaves out. Read only if a request needs them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Detail {
    /// The call, for one connection or several.
    pub(crate) call: Call,
    /// Value of a connection that replaces `{value}`.
    #[serde(default)]
    pub(crate) by: DetailBy,
    /// Most connections per call.
    #[serde(default = "Detail::one")]
    pub(crate) at_once: u32,
    /// Path to the details in the response: a list, or a single one.
    pub(crate) items: Path,
    /// Path in each detail to the `by` value of its connection. Needed if `at_once` is more than 1.
    #[serde(default)]
    pub(crate) belongs_to: Option<Path>,
    /// Parts that each detail adds to its connection.
    pub(crate) adds: Additions,
}

/// Value by which details are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum DetailBy {
    /// The platform's id of the connection.
    #[default]
    Id,
    /// The ICCID of the SIM card.
    Iccid,
    /// The IMSI of the subscription.
    Imsi,
    /// The MSISDN, the phone number.
    Msisdn,
    /// The serial number of the terminal.
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
