//! Products: connections that a tenant holds at external platforms.
//!
//! A [`Connection`] is what a platform says; a [`Product`] is the connection together with the account
//! that it was found through.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use smol_str::SmolStr;

use crate::account::Account;
use crate::identifier::{self, Identifier, IdentifierKind};
use crate::ids::PlatformName;

/// Most characters in what a platform calls a connection.
pub const LOCAL_ID_CHARS_MAX: usize = 256;

/// Whether a platform may call a connection so: in 1 to [`LOCAL_ID_CHARS_MAX`] characters, none of them a
/// control character.
pub fn is_local_id(text: &str) -> bool {
    let is_short = text.len() <= LOCAL_ID_CHARS_MAX || text.chars().count() <= LOCAL_ID_CHARS_MAX;
    is_short && !text.is_empty() && !text.chars().any(char::is_control)
}

/// A connection as a platform describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// What the platform calls it, unique in the platform.
    pub local_id: SmolStr,
    /// Its status, in our words where there is one for it.
    pub status: SmolStr,
    /// Its status in the platform's own word.
    pub platform_status: Option<SmolStr>,
    /// How it is connected.
    pub connectivity: Connectivity,
    /// The numbers that it carries, several of one kind perhaps.
    pub identifiers: Vec<(IdentifierKind, SmolStr)>,
    /// The devices that it was seen in.
    pub imeis: Vec<SmolStr>,
    /// What the customer wrote on it.
    pub properties: Vec<Property>,
}

impl Connection {
    /// Whether it carries the identifier, in whichever way it is written.
    pub fn carries(&self, identifier: &Identifier) -> bool {
        let key = identifier.key();
        let mut carried = self.identifiers.iter().filter(|(kind, _)| *kind == identifier.kind());
        carried.any(|(kind, value)| identifier::key(*kind, value) == key)
    }
}

/// How a connection is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connectivity {
    /// Over a cellular network.
    Cellular,
    /// Over satellites.
    Satellite,
}

impl Connectivity {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Cellular, Self::Satellite];

    /// The kind as it is written on the wire.
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
    /// Its name; several properties may have the same one.
    pub name: SmolStr,
    /// Its value.
    pub value: SmolStr,
}

/// A connection, and whose it is.
#[derive(Clone, Debug)]
pub struct Product {
    /// The account that it was found through.
    pub account: Arc<Account>,
    /// What the platform says.
    pub connection: Arc<Connection>,
}

impl Product {
    /// The product's identifier.
    pub fn id(&self) -> ProductId {
        let Self { account, connection } = self;
        ProductId { platform: account.platform.clone(), local_id: connection.local_id.to_string() }
    }
}

/// Identifies a product: the platform and what it calls the connection, with a hyphen between them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProductId {
    /// The platform.
    pub platform: PlatformName,
    /// What the platform calls the connection; never empty. It may have hyphens of its own.
    pub local_id: String,
}

/// A text that is no product's identifier; reads on after the field's name.
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
