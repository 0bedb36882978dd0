//! The master key, from which every other symmetric key is derived.

use aws_lc_rs::hmac;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::{chance, keyfile};

/// Thirty-two secret bytes, written as 64 hexadecimal characters.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct MasterKey([u8; 32]);

/// A text that is no master key. It never repeats the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a master key is 64 hexadecimal characters; make one with `openssl rand -hex 32`")]
pub struct BadMasterKey;

impl MasterKey {
    /// Makes a new key.
    pub fn generate() -> Self {
        Self(chance::bytes())
    }

    /// Reads the key of a file that [`MasterKey::save`] or an operator wrote.
    pub fn load(path: &std::path::Path) -> Result<Option<Self>, keyfile::KeyFileError> {
        keyfile::load(path, |text| Self::from_hex(text).map_err(|bad| bad.to_string()))
    }

    /// Writes the key to a new file that only its owner can read.
    pub fn save(&self, path: &std::path::Path) -> Result<(), keyfile::KeyFileError> {
        let mut hex: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        let saved = keyfile::save(path, &format!("{hex}\n"));
        hex.zeroize();
        saved
    }

    /// Reads a key as operators write it; white space around it is ignored.
    pub fn from_hex(text: &str) -> Result<Self, BadMasterKey> {
        let text = text.trim().as_bytes();
        if text.len() != 64 {
            return Err(BadMasterKey);
        }
        let digit = |byte: u8| char::from(byte).to_digit(16).ok_or(BadMasterKey);
        let mut key = Self([0; 32]);
        for (byte, pair) in key.0.iter_mut().zip(text.chunks_exact(2)) {
            *byte =
                u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).map_err(|_| BadMasterKey)?;
        }
        Ok(key)
    }

    /// Tells this key from others without telling what it is: kept beside the data.
    pub fn fingerprint(&self) -> String {
        self.derive("fingerprint")[..16].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The key's short name, which every stored hash and seal carries.
    pub(crate) fn id(&self) -> String {
        self.fingerprint()[..8].to_owned()
    }

    /// A key of its own for each purpose.
    pub(crate) fn derive(&self, purpose: &str) -> [u8; 32] {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.0);
        let tag = hmac::sign(&key, format!("gatehouse/1/{purpose}").as_bytes());
        tag.as_ref().try_into().expect("SHA-256 has 32 bytes")
    }
}

impl std::fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MasterKey(…)")
    }
}
