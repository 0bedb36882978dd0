//! A platform account: under which name a tenant is known at an external platform.

use std::collections::BTreeMap;
use std::fmt;

use zeroize::Zeroizing;

use crate::ids::{AccountName, ConnectorName, PlatformAccount, PlatformName};

/// Most accounts of one tenant.
pub const ACCOUNTS_MAX: u64 = 1000;

/// An account, but for what is needed to reach it. Accounts are in order by platform, then by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Account {
    /// The platform that it is on.
    pub platform: PlatformName,
    /// What the tenant calls it.
    pub name: AccountName,
    /// What speaks to the platform.
    pub connector: ConnectorName,
    /// What the platform calls it.
    pub platform_account: PlatformAccount,
}

/// Whose word it is where an account's platform is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressSource {
    /// An operator's, who manages every tenant.
    Operator,
    /// That of an admin of the tenant, as far as is known.
    Tenant,
}

/// What an account proves at its platform who it is with, by name. Never logged, never shown, wiped when
/// dropped.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials(BTreeMap<String, Zeroizing<String>>);

impl Credentials {
    /// Adds one, or replaces it.
    pub fn insert(&mut self, name: String, secret: String) {
        self.0.insert(name, Zeroizing::new(secret));
    }

    /// The secret itself.
    pub fn reveal(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|secret| secret.as_str())
    }

    /// The names of all of them, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(…)")
    }
}
