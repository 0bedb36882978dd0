//! A client: a tenant's machine that gets its tokens from gatehouse, where the tenant has no identity provider.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use crate::ids::{ClientName, TenantName};
use crate::rights::Scope;
use crate::time::Timestamp;

/// A client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// The identifier that the client sends to get a token.
    pub id: ClientId,
    /// Name for people.
    pub name: Option<ClientName>,
    /// Scopes that the client's tokens may have.
    pub scopes: BTreeSet<Scope>,
    /// Creation time.
    pub created_at: Timestamp,
}

/// Identifies a client among those of all tenants: the tenant's name, `~`, and random letters.
///
/// The tenant is a part of the identifier, because a token request names no tenant, and stored rows are found by tenant
/// first. No tenant's name has a `~`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientId {
    tenant: TenantName,
    code: String,
}

/// Most characters after the `~`.
const CODE_CHARS_MAX: usize = 64;

/// A text that is no client identifier.
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

    /// The client's tenant.
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
    fn an_identifier_names_the_tenant_of_its_client() {
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
