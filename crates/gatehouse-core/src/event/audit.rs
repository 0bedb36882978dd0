//! Events of the audit: changes of the setup, tokens, and refused attempts.

use super::{EventType, Origin};
use crate::time::Timestamp;

/// Kind of object that operators set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupObject {
    /// A tenant.
    Tenant,
    /// A contract.
    Contract,
    /// An account at a platform.
    Account,
    /// A client.
    Client,
    /// A hub.
    Hub,
    /// A hook.
    Hook,
}

impl SetupObject {
    /// Every kind.
    pub const ALL: [Self; 6] =
        [Self::Tenant, Self::Contract, Self::Account, Self::Client, Self::Hub, Self::Hook];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tenant => "tenant",
            Self::Contract => "contract",
            Self::Account => "account",
            Self::Client => "client",
            Self::Hub => "hub",
            Self::Hook => "hook",
        }
    }
}

/// A change of one object of the setup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupEntry {
    /// The kind of object.
    pub object: SetupObject,
    /// The object's name or identifier.
    pub id: String,
    /// The object before the change, as responses showed it; `None` if it was made.
    pub before: Option<String>,
    /// The object after the change, as responses show it; `None` if it was deleted.
    pub after: Option<String>,
    /// Where the change comes from.
    pub origin: Origin,
}

impl SetupEntry {
    /// The kind of change.
    pub fn event_type(&self) -> EventType {
        match (self.object, &self.before, &self.after) {
            (SetupObject::Tenant, None, _) => EventType::TenantCreate,
            (SetupObject::Tenant, _, None) => EventType::TenantDelete,
            (SetupObject::Tenant, ..) => EventType::TenantAttributeValueChange,
            (SetupObject::Contract, None, _) => EventType::ContractCreate,
            (SetupObject::Contract, _, None) => EventType::ContractDelete,
            (SetupObject::Contract, ..) => EventType::ContractAttributeValueChange,
            (SetupObject::Account, None, _) => EventType::AccountCreate,
            (SetupObject::Account, _, None) => EventType::AccountDelete,
            (SetupObject::Account, ..) => EventType::AccountAttributeValueChange,
            (SetupObject::Client, None, _) => EventType::ClientCreate,
            (SetupObject::Client, _, None) => EventType::ClientDelete,
            (SetupObject::Client, ..) => EventType::ClientAttributeValueChange,
            (SetupObject::Hub, None, _) => EventType::HubCreate,
            (SetupObject::Hub, _, None) => EventType::HubDelete,
            (SetupObject::Hub, ..) => EventType::HubAttributeValueChange,
            (SetupObject::Hook, None, _) => EventType::HookCreate,
            (SetupObject::Hook, _, None) => EventType::HookDelete,
            (SetupObject::Hook, ..) => EventType::HookAttributeValueChange,
        }
    }
}

/// Tokens that were issued alike, within a minute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenEntry {
    /// The tokens' subject.
    pub subject: String,
    /// Their tenants, separated by spaces.
    pub tenants: String,
    /// Their scopes, separated by spaces.
    pub scopes: String,
    /// Identifier of the token (`jti`); of several, of the first one.
    pub id: String,
    /// Number of tokens.
    pub n: u64,
    /// When the first one was issued.
    pub since: Timestamp,
    /// When the last one expires.
    pub expires: Timestamp,
    /// Where the first request comes from.
    pub origin: Origin,
}

/// Why requests are refused before they do anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefusalReason {
    /// No token, or one that isn't valid.
    Token,
    /// The token lacks the scope.
    Scope,
    /// The token isn't for this tenant.
    Tenant,
    /// An unknown client, or a wrong client secret.
    Client,
    /// An unknown hook key, or one of another dialect.
    Hook,
}

impl RefusalReason {
    /// Every reason.
    pub const ALL: [Self; 5] = [Self::Token, Self::Scope, Self::Tenant, Self::Client, Self::Hook];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Scope => "scope",
            Self::Tenant => "tenant",
            Self::Client => "client",
            Self::Hook => "hook",
        }
    }
}

/// Requests that were refused for one reason, within a minute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusalEntry {
    /// The reason.
    pub reason: RefusalReason,
    /// The client whose secret was wrong; empty where there is none with this identifier.
    pub client: String,
    /// Number of requests.
    pub n: u64,
    /// When the first one was refused.
    pub since: Timestamp,
    /// Where the first one comes from. Its subject is empty where the request didn't prove one.
    pub origin: Origin,
}
