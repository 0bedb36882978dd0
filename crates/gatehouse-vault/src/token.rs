//! The built-in issuer's key: Ed25519, for people who have no identity provider.
//!
//! The vault signs and checks signatures. What the claims mean, and whether they hold now, is decided
//! where requests come in.

use std::path::Path;

use aws_lc_rs::digest;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD as BASE64, URL_SAFE_NO_PAD as BASE64URL};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde_json::{Map, Value, json};
use zeroize::Zeroizing;

use crate::keyfile::{self, KeyFileError};

/// Signs the tokens of the built-in issuer.
pub struct TokenKey {
    pkcs8: Zeroizing<Vec<u8>>,
    signing: EncodingKey,
    checking: DecodingKey,
    public: String,
    id: String,
}

/// A token that this key did not sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a token of this issuer")]
pub struct BadToken;

impl TokenKey {
    /// Makes a new key.
    pub fn generate() -> Self {
        let pair =
            Ed25519KeyPair::generate().expect("the operating system's generator does not fail");
        let pkcs8 = pair.to_pkcs8v1().expect("a key that was just made can be written");
        Self::from_bytes(pkcs8.as_ref()).expect("a key that was just written can be read")
    }

    /// Reads a key as [`TokenKey::to_bytes`] wrote it.
    pub fn from_bytes(pkcs8: &[u8]) -> Result<Self, BadToken> {
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(pkcs8).map_err(|_| BadToken)?;
        let public = pair.public_key().as_ref();
        let public_text = BASE64URL.encode(public);
        // RFC 7638: the thumbprint names the key wherever it is published.
        let thumbprint = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{public_text}"}}"#);
        let id = BASE64URL.encode(digest::digest(&digest::SHA256, thumbprint.as_bytes()));
        Ok(Self {
            pkcs8: Zeroizing::new(pkcs8.to_vec()),
            signing: EncodingKey::from_ed_der(pkcs8),
            checking: DecodingKey::from_ed_components(&public_text).map_err(|_| BadToken)?,
            public: public_text,
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
    pub fn sign(&self, claims: &Map<String, Value>) -> String {
        let mut header = Header::new(Algorithm::EdDSA);
        header.kid = Some(self.id.clone());
        jsonwebtoken::encode(&header, claims, &self.signing).expect("claims are plain JSON")
    }

    /// The claims of a token that this key signed. Whether they hold is not looked at.
    pub fn verify(&self, token: &str) -> Result<Map<String, Value>, BadToken> {
        self.check_header(token)?;
        let mut validation = Validation::new(Algorithm::EdDSA);
        // Times are compared with the caller's clock, not with the library's.
        validation.validate_exp = false;
        validation.validate_aud = false;
        validation.required_spec_claims.clear();
        let token =
            jsonwebtoken::decode(token, &self.checking, &validation).map_err(|_| BadToken)?;
        Ok(token.claims)
    }

    /// Refuses what RFC 7515 wants refused before a signature is looked at: extensions that must be
    /// understood, of which we know none, and another key's name.
    pub(crate) fn check_header(&self, token: &str) -> Result<(), BadToken> {
        let header = token.split('.').next().and_then(|it| BASE64URL.decode(it).ok());
        let header = header.and_then(|it| serde_json::from_slice::<Value>(&it).ok());
        let header = header.ok_or(BadToken)?;
        let is_ours = header.get("kid").is_none_or(|kid| kid.as_str() == Some(&self.id));
        if header.get("crit").is_none() && is_ours { Ok(()) } else { Err(BadToken) }
    }

    /// The public part, as a set of JSON Web Keys.
    pub fn jwks(&self) -> Value {
        json!({"keys": [{
            "kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA",
            "kid": self.id, "x": self.public,
        }]})
    }
}

impl std::fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TokenKey({})", self.id)
    }
}
