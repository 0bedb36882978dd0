//! A client: a machine of a tenant's that gets its tokens from us, for people who have no identity
//! provider.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use crate::ids::{ClientName, TenantName};
use crate::rights::Scope;
use crate::time::Timestamp;

/// A client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// What it calls itself when it asks for a token.
    pub id: ClientId,
    /// What people call it.
    pub name: Option<ClientName>,
    /// What its tokens may allow.
    pub scopes: BTreeSet<Scope>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Identifies a client among those of all tenants: the tenant's name, `~`, and letters drawn by chance.
///
/// The tenant is in it because who asks for a token says nothing else, and everything that is kept is
/// found by its tenant first. No tenant's name holds a `~`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientId {
    tenant: TenantName,
    code: String,
}

/// Most characters after the `~`.
const CODE_CHARS_MAX: usize = 64;

/// A text that is no client's identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be the tenant's name, `~`, and letters and digits")]
pub struct BadClientId;

impl ClientId {
    /// Makes an identifier out of letters and digits that the caller draws.
    pub fn new(tenant: &TenantName, code: &str) -> Result<Self, BadClientId> {
        let is_code = (1..=CODE_CHARS_MAX).contains(&code.len())
            && code.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        let id = Self { tenant: tenant.clone(), code: code.to_owned() };
        if is_code { Ok(id) } else { Err(BadClientId) }
    }

    /// Whose client it is.
    pub fn tenant(&self) -> &TenantName {
        &self.tenant
    }
}

impl FromStr for ClientId {
    type Err = BadClientId;

    fn from_str(text: &str) -> Result<Self, BadClientId> {
        let (tenant, code) = text.split_once('~').ok_or(BadClientId)?;
        Self::new(&tenant.parse().map_err(|_| BadClientId)?, code)
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}~{}", self.tenant, self.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_says_whose_client_it_is() {
        let id: ClientId = "acme.eu-1~k3j2m4".parse().unwrap();
        assert_eq!(
            (id.tenant().as_str(), id.to_string().as_str()),
            ("acme.eu-1", "acme.eu-1~k3j2m4")
        );
        let long = format!("acme~{}", "a".repeat(CODE_CHARS_MAX));
        assert!(long.parse::<ClientId>().is_ok());
        for bad in
            ["", "acme", "acme~", "~abc", "acme~A", "acme~a~b", "-~a", "a/b~c", &(long + "a")]
        {
            assert_eq!(bad.parse::<ClientId>(), Err(BadClientId), "{bad}");
        }
    }
}
