//! The platform account of a product or a problem, as a TMF related party.

use gatehouse_core::Account;
use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

/// Role of a tenant at its platforms.
const ROLE: &str = "customer";

/// A name and a value.
#[derive(Clone, Copy, Serialize)]
struct Characteristic<'a> {
    name: &'a str,
    value: &'a str,
}

/// An account as a related party in JSON.
#[derive(Clone, Copy)]
pub(crate) struct Party<'a> {
    account: &'a Account,
    names_platform: bool,
}

impl<'a> Party<'a> {
    /// The account of a product. The product names the platform.
    pub(crate) fn new(account: &'a Account) -> Self {
        Self { account, names_platform: false }
    }

    /// The account of a problem, with its platform.
    pub(crate) fn with_platform(account: &'a Account) -> Self {
        Self { account, names_platform: true }
    }
}

impl Serialize for Party<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let account = self.account;
        let both = [
            Characteristic { name: "PLATFORM", value: account.platform.as_str() },
            Characteristic { name: "PLATFORM_ACCOUNT", value: account.platform_account.as_str() },
        ];
        let shown = if self.names_platform { &both[..] } else { &both[1..] };
        let mut party = serializer.serialize_struct("Party", 3)?;
        party.serialize_field("name", account.name.as_str())?;
        party.serialize_field("characteristic", shown)?;
        party.serialize_field("role", ROLE)?;
        party.end()
    }
}
