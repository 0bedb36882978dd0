//! A password in the clear, and its stored hash.

use zeroize::{Zeroize, ZeroizeOnDrop};

/// Most bytes in a password.
pub const PASSWORD_BYTES_MAX: usize = 72;

/// A password in the clear. Never logged, never stored, wiped when dropped.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Password(String);

/// Why a text can't be a password; continues after the field's name and never repeats the value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must have 1 to {PASSWORD_BYTES_MAX} bytes of UTF-8, not {0}")]
pub struct BadPassword(usize);

impl Password {
    /// Takes a text that a client chose, or that was generated.
    pub fn new(text: String) -> Result<Self, BadPassword> {
        let n_bytes = text.len();
        let password = Self(text);
        if (1..=PASSWORD_BYTES_MAX).contains(&n_bytes) {
            Ok(password)
        } else {
            Err(BadPassword(n_bytes))
        }
    }

    /// The password in the clear.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Password(…)")
    }
}

/// A stored password hash: scheme, key and hash in one text that only the vault reads.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredHash(String);

impl StoredHash {
    /// Takes a text that the vault made.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text to store.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for StoredHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StoredHash(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_bounded_in_bytes() {
        assert!(Password::new(String::new()).is_err());
        assert!(Password::new("x".repeat(72)).is_ok());
        assert!(Password::new("x".repeat(73)).is_err());
        assert!(Password::new("é".repeat(37)).is_err(), "74 bytes");
        assert!(Password::new("any: \0 characters 🛰".into()).is_ok());
    }

    #[test]
    fn secrets_do_not_show_in_debug() {
        let shown = format!("{:?}", Password::new("hunter2".into()).unwrap());
        assert!(!shown.contains("hunter2"));
        assert!(!format!("{:?}", StoredHash::new("hash".into())).contains("hash"));
    }
}
