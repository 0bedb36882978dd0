//! The built-in issuer's key: Ed25519, for operators without an identity provider.
//!
//! A `KeySet` verifies its signatures, as every other issuer's.

use aws_lc_rs::digest;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::key_set::Claims;

/// Signs the built-in issuer's tokens.
pub(crate) struct TokenKey {
    pkcs8: Zeroizing<Vec<u8>>,
    signing: EncodingKey,
    public: PublicTokenKey,
}

/// The public key, which verifies signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PublicTokenKey {
    /// The 32 bytes, as a JSON Web Key writes them.
    x: String,
}

/// The bytes are no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an Ed25519 key in PKCS#8")]
pub struct BadTokenKey;

impl TokenKey {
    /// Makes a new key.
    pub(crate) fn generate() -> Self {
        let pair =
            Ed25519KeyPair::generate().expect("the operating system's generator does not fail");
        let pkcs8 = pair.to_pkcs8v1().expect("a key that was just made can be written");
        Self::from_bytes(pkcs8.as_ref()).expect("a key that was just written can be read")
    }

    /// Parses a key that [`TokenKey::to_bytes`] wrote.
    pub(crate) fn from_bytes(pkcs8: &[u8]) -> Result<Self, BadTokenKey> {
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(pkcs8).map_err(|_| BadTokenKey)?;
        let public = pair.public_key().as_ref();
        let public = PublicTokenKey { x: BASE64URL.encode(public) };
        let signing = EncodingKey::from_ed_der(pkcs8);
        Ok(Self { pkcs8: Zeroizing::new(pkcs8.to_vec()), signing, public })
    }

    /// The key's bytes, to be sealed and stored.
    pub(crate) fn to_bytes(&self) -> &[u8] {
        &self.pkcs8
    }

    /// Signs claims into a token.
    pub(crate) fn sign(&self, claims: &Claims) -> String {
        let mut header = Header::new(Algorithm::EdDSA);
        header.kid = Some(self.public.id());
        jsonwebtoken::encode(&header, claims, &self.signing).expect("claims are plain JSON")
    }

    pub(crate) fn public(&self) -> &PublicTokenKey {
        &self.public
    }
}

impl PublicTokenKey {
    /// Parses a public key that [`PublicTokenKey::as_str`] wrote.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let bytes = BASE64URL.decode(text).ok()?;
        (bytes.len() == 32).then(|| Self { x: text.to_owned() })
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.x
    }

    /// The key's thumbprint (RFC 7638), which names it wherever it is published.
    pub(crate) fn id(&self) -> String {
        let thumbprint = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{}"}}"#, self.x);
        BASE64URL.encode(digest::digest(&digest::SHA256, thumbprint.as_bytes()))
    }

    /// The key as a JSON Web Key.
    pub(crate) fn jwk(&self) -> Value {
        json!({
            "kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA",
            "kid": self.id(), "x": self.x,
        })
    }
}

impl std::fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TokenKey({})", self.public.id())
    }
}
