//! The master keys, from which every other symmetric key is derived.
//!
//! There are several while the key is being changed: the first makes new hashes and seals, the others check and open
//! old ones.

use aws_lc_rs::hmac;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::{keyfile, random};

/// Most master keys at a time: the present one, and former ones.
const KEYS_MAX: usize = 8;

/// Characters of a key's short name.
pub(crate) const ID_CHARS: usize = 8;

/// Thirty-two secret bytes, written as 64 hexadecimal characters.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct MasterKey([u8; 32]);

/// The master keys of a server: at least one, and no two with the same name.
#[derive(Clone, Debug)]
pub struct MasterKeys(Vec<MasterKey>);

/// Why a text holds no master keys. Refers to a bad key by its position, and never repeats the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadMasterKeys {
    /// A key is not 64 hexadecimal characters.
    #[error(
        "{}a master key is 64 hexadecimal characters; make one with `openssl rand -hex 32`",
        position(*.0, *.1)
    )]
    Malformed(usize, usize),
    /// Too many keys.
    #[error("there are {0} master keys: give at most {KEYS_MAX}, the one that is used first")]
    TooMany(usize),
    /// A key is repeated.
    #[error("the master keys {0} and {1} are the same: give each once")]
    Twice(usize, usize),
}

/// Prefix that names one of several keys.
fn position(number: usize, n_keys: usize) -> String {
    if n_keys > 1 { format!("key {number} of {n_keys}: ") } else { String::new() }
}

impl MasterKeys {
    /// Parses operators' keys: separated by white space, the one in use first.
    pub fn parse(text: &str) -> Result<Self, BadMasterKeys> {
        let n_keys = text.split_whitespace().count();
        if n_keys > KEYS_MAX {
            return Err(BadMasterKeys::TooMany(n_keys));
        }
        let mut keys: Vec<MasterKey> = Vec::with_capacity(n_keys);
        for (n, word) in text.split_whitespace().enumerate() {
            let malformed = BadMasterKeys::Malformed(n + 1, n_keys);
            let key = MasterKey::from_hex(word).ok_or(malformed)?;
            // Hashes and seals name their key by its short name alone.
            if let Some(other) = keys.iter().position(|it| it.id() == key.id()) {
                return Err(BadMasterKeys::Twice(other + 1, n + 1));
            }
            keys.push(key);
        }
        if keys.is_empty() { Err(BadMasterKeys::Malformed(1, 1)) } else { Ok(Self(keys)) }
    }

    /// Reads a key file that [`MasterKey::save`] or an operator wrote.
    pub fn load(path: &std::path::Path) -> Result<Option<Self>, keyfile::KeyFileError> {
        keyfile::load(path, |text| Self::parse(text).map_err(|bad| bad.to_string()))
    }

    /// The keys' fingerprints, the one in use first.
    pub fn fingerprints(&self) -> Vec<String> {
        self.0.iter().map(MasterKey::fingerprint).collect()
    }

    pub(crate) fn first(&self) -> &MasterKey {
        &self.0[0]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &MasterKey> {
        self.0.iter()
    }
}

impl From<MasterKey> for MasterKeys {
    fn from(only: MasterKey) -> Self {
        Self(vec![only])
    }
}

impl MasterKey {
    /// Makes a new key.
    pub fn generate() -> Self {
        Self(random::bytes())
    }

    /// Writes the key to a new file that only its owner can read.
    pub fn save(&self, path: &std::path::Path) -> Result<(), keyfile::KeyFileError> {
        let mut hex: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        let saved = keyfile::save(path, &format!("{hex}\n"));
        hex.zeroize();
        saved
    }

    fn from_hex(text: &str) -> Option<Self> {
        let text = text.as_bytes();
        if text.len() != 64 {
            return None;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let mut key = Self([0; 32]);
        for (byte, pair) in key.0.iter_mut().zip(text.chunks_exact(2)) {
            *byte = u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok()?;
        }
        Some(key)
    }

    /// Identifies the key without revealing it: stored with the data.
    pub fn fingerprint(&self) -> String {
        self.derive("fingerprint")[..16].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The key's short name, the start of its fingerprint. Every stored hash and seal has it.
    pub(crate) fn id(&self) -> String {
        self.fingerprint()[..ID_CHARS].to_owned()
    }

    /// Derives a separate key for each purpose.
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

#[cfg(test)]
mod tests;
