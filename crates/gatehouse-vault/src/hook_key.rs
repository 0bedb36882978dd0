//! Keys of hooks. A key has as many random bits as a generated password, so its digest tells nothing about it.

use gatehouse_core::credential::Password;

use crate::key_set::token_digest;
use crate::password::generate_password;

/// A new hook key: letters and digits, which no path or header has to escape.
pub fn generate_hook_key() -> Password {
    generate_password()
}

/// A digest that identifies a hook key.
pub fn hook_key_digest(key: &str) -> [u8; 32] {
    token_digest(key)
}
