//! Settings and credentials of an account, and what can be wrong with them.

use gatehouse_core::account::{AddressSource, Credentials};
use serde_json::Value;

/// What an account says about how its platform is reached.
pub type Settings = serde_json::Map<String, Value>;

/// What an account is reached with.
#[derive(Clone, Copy)]
pub struct AccountSetup<'a> {
    /// How its platform is reached.
    pub settings: &'a Settings,
    /// What it proves itself with.
    pub credentials: &'a Credentials,
    /// Whose word it is where its platform is.
    pub address_source: AddressSource,
}

/// One thing that is wrong with an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingFault {
    /// The field: `settings.baseUrl`.
    pub name: String,
    /// What would be right; reads on after the name. Never holds a secret.
    pub reason: String,
}

/// What a value is, in words.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
