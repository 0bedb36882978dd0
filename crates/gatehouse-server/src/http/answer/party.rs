//! Whom a product or a problem belongs to: a platform account, as a related party.

use gatehouse_core::Account;
use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

/// What a tenant is to its platforms.
const ROLE: &str = "customer";

/// Something that has a name and a value.
#[derive(Clone, Copy, Serialize)]
struct Characteristic<'a> {
    name: &'a str,
    value: &'a str,
}

/// An account on the wire.
#[derive(Clone, Copy)]
pub(crate) struct Party<'a> {
    account: &'a Account,
    tells_platform: bool,
}

impl<'a> Party<'a> {
    /// The account of a product, which says by itself which platform it is on.
    pub(crate) fn new(account: &'a Account) -> Self {
        Self { account, tells_platform: false }
    }

    /// The account of a problem.
    pub(crate) fn with_platform(account: &'a Account) -> Self {
        Self { account, tells_platform: true }
    }
}

impl Serialize for Party<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let account = self.account;
        let both = [
            Characteristic { name: "PLATFORM", value: account.platform.as_str() },
            Characteristic { name: "PLATFORM_ACCOUNT", value: account.platform_account.as_str() },
        ];
        let told = if self.tells_platform { &both[..] } else { &both[1..] };
        let mut party = serializer.serialize_struct("Party", 3)?;
        party.serialize_field("name", account.name.as_str())?;
        party.serialize_field("characteristic", told)?;
        party.serialize_field("role", ROLE)?;
        party.end()
    }
}
