//! The built-in issuer's key: Ed25519, for people who have no identity provider.
//!
//! It signs here; its signatures are checked as every other issuer's are, by its [`KeySet`].

use std::path::Path;

use aws_lc_rs::digest;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD as BASE64, URL_SAFE_NO_PAD as BASE64URL};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::key_set::{Claims, KeySet};
use crate::keyfile::{self, KeyFileError};

/// Signs the tokens of the built-in issuer.
pub struct TokenKey {
    pkcs8: Zeroizing<Vec<u8>>,
    signing: EncodingKey,
    public: Value,
    id: String,
}

/// Bytes that are no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an Ed25519 key in PKCS#8")]
pub struct BadTokenKey;

impl TokenKey {
    /// Makes a new key.
    pub fn generate() -> Self {
        let pair =
            Ed25519KeyPair::generate().expect("the operating system's generator does not fail");
        let pkcs8 = pair.to_pkcs8v1().expect("a key that was just made can be written");
        Self::from_bytes(pkcs8.as_ref()).expect("a key that was just written can be read")
    }

    /// Reads a key as [`TokenKey::to_bytes`] wrote it.
    pub fn from_bytes(pkcs8: &[u8]) -> Result<Self, BadTokenKey> {
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(pkcs8).map_err(|_| BadTokenKey)?;
        let public = pair.public_key().as_ref();
        let public_text = BASE64URL.encode(public);
        // RFC 7638: the thumbprint names the key wherever it is published.
        let thumbprint = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{public_text}"}}"#);
        let id = BASE64URL.encode(digest::digest(&digest::SHA256, thumbprint.as_bytes()));
        Ok(Self {
            pkcs8: Zeroizing::new(pkcs8.to_vec()),
            signing: EncodingKey::from_ed_der(pkcs8),
            public: json!({
                "kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA",
                "kid": id, "x": public_text,
            }),
            id,
        })
    }

    /// The key's bytes, to be sealed and stored.
    pub fn to_bytes(&self) -> &[u8] {
        &self.pkcs8
    }

    /// Reads the key of a file that [`TokenKey::save`] wrote.
    pub fn load(path: &Path) -> Result<Option<Self>, KeyFileError> {
        keyfile::load(path, |text| {
            let bytes = BASE64.decode(text.trim()).ok();
            bytes
                .and_then(|bytes| Self::from_bytes(&Zeroizing::new(bytes)).ok())
                .ok_or_else(|| "does not hold an Ed25519 key in PKCS#8 and Base64".to_owned())
        })
    }

    /// Writes the key to a new file that only its owner can read.
    pub fn save(&self, path: &Path) -> Result<(), KeyFileError> {
        let text = Zeroizing::new(BASE64.encode(self.to_bytes()) + "\n");
        keyfile::save(path, &text)
    }

    /// Signs claims into a token.
    pub fn sign(&self, claims: &Claims) -> String {
        let mut header = Header::new(Algorithm::EdDSA);
        header.kid = Some(self.id.clone());
        jsonwebtoken::encode(&header, claims, &self.signing).expect("claims are plain JSON")
    }

    /// The public part, as a set of JSON Web Keys.
    pub fn jwks(&self) -> Value {
        json!({"keys": [self.public]})
    }

    /// What checks the tokens that this key signs.
    pub fn key_set(&self) -> KeySet {
        let jwks = self.jwks().to_string();
        KeySet::parse(jwks.as_bytes()).expect("a key's own public part can be read")
    }
}

impl std::fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TokenKey({})", self.id)
    }
}
