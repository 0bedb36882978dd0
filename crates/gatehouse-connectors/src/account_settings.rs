//! Settings and credentials of an account, and their faults.

use gatehouse_core::account::{AddressSource, Credentials};
use serde_json::Value;

/// Settings of an account: how its platform is reached.
pub type Settings = serde_json::Map<String, Value>;

/// Everything needed to reach an account.
#[derive(Clone, Copy)]
pub struct AccountSetup<'a> {
    /// The account's settings.
    pub settings: &'a Settings,
    /// The account's credentials.
    pub credentials: &'a Credentials,
    /// Source of the platform's address: an operator, or an admin of the tenant.
    pub address_source: AddressSource,
}

/// A fault in an account's settings or credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingFault {
    /// The field: `settings.baseUrl`.
    pub name: String,
    /// The correct form, as text that continues after the name. Never holds a secret.
    pub reason: String,
}

/// A value that may be repeated: numbers are, whatever else isn't.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        other => kind(other).to_owned(),
    }
}

/// The JSON type of a value, in words.
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
