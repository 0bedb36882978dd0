//! The built-in issuer's keys: the signing key, and the public keys of former ones.
//!
//! A rotation destroys the former private key. Its tokens stay trusted for a while, so its public key is kept. All keys
//! are one text:
//!
//! ```text
//! MFECAQEwBQYDK2VwBCIE…                                     the key that signs, in PKCS#8 and Base64
//! former 11qYAYKxCrfVS_7TyWQHOg7hc… until 2036-01-01T…      one that signed, and when it is forgotten
//! ```

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use gatehouse_core::Timestamp;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::key_set::{Claims, KeySet};
use crate::keyfile::{self, KeyFileError};
use crate::token::{BadTokenKey, PublicTokenKey, TokenKey};

/// Most former keys that are trusted at a time.
const FORMER_MAX: usize = 50;

/// The keys of the built-in issuer.
#[derive(Debug)]
pub struct TokenKeys {
    signing: TokenKey,
    /// Former keys, the latest first.
    former: Vec<FormerKey>,
}

/// The public key of a former signing key.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FormerKey {
    public: PublicTokenKey,
    until: Timestamp,
}

/// Too many former keys are still trusted for another rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{FORMER_MAX} former token keys are still trusted, which is as many as there can be: wait until one is \
     forgotten"
)]
pub struct TooManyTokenKeys;

impl TokenKeys {
    /// Generates a first key.
    pub fn generate() -> Self {
        Self { signing: TokenKey::generate(), former: Vec::new() }
    }

    /// The issuer's keys with a new signing key. Tokens of former keys are trusted until `until` at most.
    pub fn rotated(&self, until: Timestamp, now: Timestamp) -> Result<Self, TooManyTokenKeys> {
        let latest = FormerKey { public: self.signing.public().clone(), until };
        let earlier =
            self.former.iter().map(|it| FormerKey { until: it.until.min(until), ..it.clone() });
        let former = std::iter::once(latest).chain(earlier);
        let former: Vec<FormerKey> = former.filter(|it| it.until > now).collect();
        if former.len() > FORMER_MAX {
            return Err(TooManyTokenKeys);
        }
        Ok(Self { signing: TokenKey::generate(), former })
    }

    /// Signs claims into a token.
    pub fn sign(&self, claims: &Claims) -> String {
        self.signing.sign(claims)
    }

    /// ID of the signing key, as tokens name it.
    pub fn id(&self) -> String {
        self.signing.public().id()
    }

    /// The public keys that are trusted now, as a JSON Web Key Set.
    pub fn jwks(&self, now: Timestamp) -> Value {
        let former = self.former.iter().filter(|it| it.until > now).map(|it| &it.public);
        let trusted = std::iter::once(self.signing.public()).chain(former);
        json!({"keys": trusted.map(PublicTokenKey::jwk).collect::<Vec<_>>()})
    }

    /// The key set that verifies tokens now.
    pub fn key_set(&self, now: Timestamp) -> KeySet {
        let jwks = self.jwks(now).to_string();
        KeySet::parse(jwks.as_bytes()).expect("a key's own public part can be read")
    }

    /// Parses keys that [`TokenKeys::to_text`] wrote.
    pub fn from_text(text: &str) -> Result<Self, BadTokenKey> {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let signing = BASE64.decode(lines.next().ok_or(BadTokenKey)?).map_err(|_| BadTokenKey)?;
        let signing = TokenKey::from_bytes(&Zeroizing::new(signing))?;
        let former: Option<Vec<FormerKey>> = lines.map(FormerKey::read).collect();
        Ok(Self { signing, former: former.ok_or(BadTokenKey)? })
    }

    /// The keys as one text, to be sealed and stored.
    pub fn to_text(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::with_capacity(256));
        text.push_str(&Zeroizing::new(BASE64.encode(self.signing.to_bytes())));
        text.push('\n');
        for FormerKey { public, until } in &self.former {
            text.push_str(&format!("former {} until {until}\n", public.as_str()));
        }
        text
    }

    /// Parses unsealed bytes: the text, or the signing key alone, as older versions stored it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BadTokenKey> {
        if let Ok(signing) = TokenKey::from_bytes(bytes) {
            return Ok(Self { signing, former: Vec::new() });
        }
        Self::from_text(str::from_utf8(bytes).map_err(|_| BadTokenKey)?)
    }

    /// Reads a key file.
    pub fn load(path: &Path) -> Result<Option<Self>, KeyFileError> {
        let what = "does not hold an Ed25519 key in PKCS#8 and Base64";
        keyfile::load(path, |text| Self::from_text(text).map_err(|_| what.to_owned()))
    }

    /// Writes the keys to a new file that only its owner can read.
    pub fn save(&self, path: &Path) -> Result<(), KeyFileError> {
        keyfile::save(path, &self.to_text())
    }

    /// Replaces a key file.
    pub fn replace(&self, path: &Path) -> Result<(), KeyFileError> {
        keyfile::replace(path, &self.to_text())
    }
}

impl FormerKey {
    fn read(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["former", public, "until", until] = words[..] else { return None };
        Some(Self { public: PublicTokenKey::parse(public)?, until: until.parse().ok()? })
    }
}

#[cfg(test)]
mod tests;
