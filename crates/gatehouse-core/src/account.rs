//! A platform account: a tenant's account at an external platform.

use std::collections::BTreeMap;
use std::fmt;

use zeroize::Zeroizing;

use crate::ids::{AccountName, ConnectorName, PlatformAccount, PlatformName};

/// Most accounts of one tenant.
pub const ACCOUNTS_MAX: u64 = 1000;

/// An account, without its address and credentials. Accounts are ordered by platform, then by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Account {
    /// The account's platform.
    pub platform: PlatformName,
    /// The tenant's name for the account.
    pub name: AccountName,
    /// The connector that calls the platform.
    pub connector: ConnectorName,
    /// The platform's name for the account.
    pub platform_account: PlatformAccount,
}

/// Role of the admin that set the address of an account's platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressSource {
    /// An operator, who manages every tenant.
    Operator,
    /// An admin of the tenant, or unknown.
    Tenant,
}

/// Secrets that authenticate an account at its platform, by name. Never logged, never shown, wiped when dropped.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials(BTreeMap<String, Zeroizing<String>>);

impl Credentials {
    /// Inserts or replaces a secret.
    pub fn insert(&mut self, name: String, secret: String) {
        self.0.insert(name, Zeroizing::new(secret));
    }

    /// The secret in the clear.
    pub fn reveal(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|secret| secret.as_str())
    }

    /// The names of all secrets, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether there are no secrets.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(…)")
    }
}
