//! Products: connections that a tenant holds at external platforms.
//!
//! A [`Connection`] is the platform's description; a [`Product`] adds the account that it was found through.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use smol_str::SmolStr;

use crate::account::Account;
use crate::identifier::{self, Identifier, IdentifierKind};
use crate::ids::PlatformName;

/// Most characters in a platform's identifier of a connection.
pub const LOCAL_ID_CHARS_MAX: usize = 256;

/// Whether a text can be a platform's identifier of a connection: 1 to [`LOCAL_ID_CHARS_MAX`] characters without
/// control characters.
pub fn is_local_id(text: &str) -> bool {
    let is_short = text.len() <= LOCAL_ID_CHARS_MAX || text.chars().count() <= LOCAL_ID_CHARS_MAX;
    is_short && !text.is_empty() && !text.chars().any(char::is_control)
}

/// A connection as a platform describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The platform's identifier of the connection, unique in the platform.
    pub local_id: SmolStr,
    /// The canonical status, or the platform's own where no canonical one fits.
    pub status: SmolStr,
    /// The platform's own status.
    pub platform_status: Option<SmolStr>,
    /// The kind of network.
    pub connectivity: Connectivity,
    /// The connection's identifiers, perhaps several of one kind.
    pub identifiers: Vec<(IdentifierKind, SmolStr)>,
    /// IMEIs of the devices in which the platform has seen the connection.
    pub imeis: Vec<SmolStr>,
    /// The customer's properties.
    pub properties: Vec<Property>,
}

impl Connection {
    /// Whether the connection has the identifier, in any spelling.
    pub fn carries(&self, identifier: &Identifier) -> bool {
        let key = identifier.key();
        let mut carried = self.identifiers.iter().filter(|(kind, _)| *kind == identifier.kind());
        carried.any(|(kind, value)| identifier::key(*kind, value) == key)
    }
}

/// Kind of network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connectivity {
    /// Cellular network.
    Cellular,
    /// Satellites.
    Satellite,
}

impl Connectivity {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Cellular, Self::Satellite];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cellular => "CELLULAR",
            Self::Satellite => "SATELLITE",
        }
    }
}

/// A custom property.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Property {
    /// The property's name; several properties may have the same one.
    pub name: SmolStr,
    /// The property's value.
    pub value: SmolStr,
}

/// A connection, with its account.
#[derive(Clone, Debug)]
pub struct Product {
    /// The account that the connection was found through.
    pub account: Arc<Account>,
    /// The platform's description.
    pub connection: Arc<Connection>,
}

impl Product {
    /// The product's identifier.
    pub fn id(&self) -> ProductId {
        let Self { account, connection } = self;
        ProductId { platform: account.platform.clone(), local_id: connection.local_id.to_string() }
    }
}

/// Identifies a product: the platform's name, a hyphen, and the platform's identifier of the connection.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProductId {
    /// The platform.
    pub platform: PlatformName,
    /// The platform's identifier of the connection; never empty. May have hyphens.
    pub local_id: String,
}

/// A text that is no product identifier; continues after the field's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be the canonical name of a platform, `-`, and what the platform calls the connection, \
     such as `ALPHA-4711`"
)]
pub struct BadProductId;

impl FromStr for ProductId {
    type Err = BadProductId;

    fn from_str(text: &str) -> Result<Self, BadProductId> {
        let (platform, local_id) = text.split_once('-').ok_or(BadProductId)?;
        let platform = platform.parse().map_err(|_| BadProductId)?;
        if !is_local_id(local_id) {
            return Err(BadProductId);
        }
        Ok(Self { platform, local_id: local_id.to_owned() })
    }
}

impl fmt::Display for ProductId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.platform, self.local_id)
    }
}

#[cfg(test)]
mod tests;
