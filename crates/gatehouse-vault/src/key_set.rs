//! An issuer's public keys, which verify the signatures of its tokens.
//!
//! Only asymmetric algorithms are allowed, and each only with keys of its own kind: a public key never serves as a
//! shared secret. The server checks the claims.

use aws_lc_rs::digest;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use jsonwebtoken::jwk::{
    AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, KeyOperations, PublicKeyUse,
};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde_json::{Map, Value};

/// The claims of a token.
pub type Claims = Map<String, Value>;

/// Most keys of one issuer; a set with more is not a set of signing keys.
const KEYS_MAX: usize = 100;

/// The public keys of an issuer.
#[derive(Clone)]
pub struct KeySet {
    keys: Vec<PublicKey>,
    digest: [u8; 32],
}

#[derive(Clone)]
struct PublicKey {
    id: Option<String>,
    /// Algorithms that the key may be used with.
    algorithms: Vec<Algorithm>,
    checking: DecodingKey,
}

/// Why a text is no key set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadKeySet {
    /// Not a JSON Web Key Set.
    #[error("it is not a JSON Web Key Set: an object with the array `keys`")]
    Malformed,
    /// More keys than any issuer needs.
    #[error("it has {0} keys; {KEYS_MAX} are read")]
    TooMany(usize),
}

/// Why a token is not accepted as this issuer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadToken {
    /// The token names a key that is not in the set, perhaps a new one.
    #[error("the token names a key that is not known")]
    UnknownKey,
    /// The token is malformed, or its signature is wrong.
    #[error("the token is malformed, or its signature does not hold")]
    NotSigned,
}

impl KeySet {
    /// Parses a JSON Web Key Set. Leaves out keys of other kinds and for other uses; an empty set is that of an issuer
    /// that has withdrawn its keys.
    pub fn parse(json: &[u8]) -> Result<Self, BadKeySet> {
        let json: Value = serde_json::from_slice(json).map_err(|_| BadKeySet::Malformed)?;
        let Some(Value::Array(listed)) = json.get("keys") else { return Err(BadKeySet::Malformed) };
        if listed.len() > KEYS_MAX {
            return Err(BadKeySet::TooMany(listed.len()));
        }
        let keys = listed.iter().filter_map(PublicKey::read).collect();
        let digest = digest::digest(&digest::SHA256, json["keys"].to_string().as_bytes());
        let digest = digest.as_ref().try_into().expect("SHA-256 has 32 bytes");
        Ok(Self { keys, digest })
    }

    /// Number of keys.
    pub fn n_keys(&self) -> usize {
        self.keys.len()
    }

    /// Digest of the set's text.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// Verifies a token's signature and returns its claims, which the caller has to check.
    pub fn verify(&self, token: &str) -> Result<Claims, BadToken> {
        let (algorithm, id) = read_header(token)?;
        // Without a key ID in the token or in the key, every key is a candidate.
        let may_be = |key: &&PublicKey| {
            let is_named = id.is_none() || key.id.is_none() || key.id == id;
            is_named && key.algorithms.contains(&algorithm)
        };
        let mut validation = Validation::new(algorithm);
        // The caller compares times, with its own clock.
        validation.validate_exp = false;
        validation.validate_aud = false;
        validation.required_spec_claims.clear();
        let mut fitting = self.keys.iter().filter(may_be);
        let signed =
            fitting.find_map(|key| jsonwebtoken::decode(token, &key.checking, &validation).ok());
        signed.map(|token| token.claims).ok_or_else(|| {
            let is_here =
                self.keys.iter().filter(may_be).any(|key| key.id.is_some() && key.id == id);
            if is_here { BadToken::NotSigned } else { BadToken::UnknownKey }
        })
    }
}

impl PublicKey {
    fn read(jwk: &Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(jwk.clone()).ok()?;
        let for_signatures = |it: &PublicKeyUse| *it == PublicKeyUse::Signature;
        let for_checking = |it: &Vec<KeyOperations>| it.contains(&KeyOperations::Verify);
        if !jwk.common.public_key_use.as_ref().is_none_or(for_signatures)
            || !jwk.common.key_operations.as_ref().is_none_or(for_checking)
        {
            return None;
        }
        let mut algorithms = match &jwk.algorithm {
            AlgorithmParameters::RSA(_) => {
                vec![Algorithm::RS256, Algorithm::RS384, Algorithm::RS512, Algorithm::PS256]
            }
            AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => {
                vec![Algorithm::ES256]
            }
            AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P384 => {
                vec![Algorithm::ES384]
            }
            AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
                vec![Algorithm::EdDSA]
            }
            _ => return None,
        };
        if let Some(only) = jwk.common.key_algorithm {
            algorithms.retain(|it| KeyAlgorithm::from(*it) == only);
        }
        let checking = DecodingKey::from_jwk(&jwk).ok().filter(|_| !algorithms.is_empty())?;
        Some(Self { id: jwk.common.key_id, algorithms, checking })
    }
}

/// A token's algorithm and key ID. Refuses critical extensions, as RFC 7515 requires before the signature is checked:
/// none is supported.
fn read_header(token: &str) -> Result<(Algorithm, Option<String>), BadToken> {
    let header = part(token, 0).ok_or(BadToken::NotSigned)?;
    if header.contains_key("crit") {
        return Err(BadToken::NotSigned);
    }
    let algorithm = match header.get("alg").and_then(Value::as_str) {
        Some("EdDSA") => Algorithm::EdDSA,
        Some("ES256") => Algorithm::ES256,
        Some("ES384") => Algorithm::ES384,
        Some("RS256") => Algorithm::RS256,
        Some("RS384") => Algorithm::RS384,
        Some("RS512") => Algorithm::RS512,
        Some("PS256") => Algorithm::PS256,
        _ => return Err(BadToken::NotSigned),
    };
    match header.get("kid") {
        None => Ok((algorithm, None)),
        Some(Value::String(id)) => Ok((algorithm, Some(id.clone()))),
        Some(_) => Err(BadToken::NotSigned),
    }
}

/// The issuer that a token claims, unverified.
pub fn named_issuer(token: &str) -> Option<String> {
    match part(token, 1)?.remove("iss") {
        Some(Value::String(issuer)) => Some(issuer),
        _ => None,
    }
}

/// A token's type (`typ`), unverified.
pub fn token_type(token: &str) -> Option<String> {
    match part(token, 0)?.remove("typ") {
        Some(Value::String(name)) => Some(name),
        // A `typ` that is no text matches no known type.
        Some(_) => Some(String::new()),
        None => None,
    }
}

/// A digest that identifies a token in a cache.
pub fn token_digest(token: &str) -> [u8; 32] {
    let digest = digest::digest(&digest::SHA256, token.as_bytes());
    digest.as_ref().try_into().expect("SHA-256 has 32 bytes")
}

/// The header or the payload of a token.
pub(crate) fn part(token: &str, n: usize) -> Option<Claims> {
    let bytes = BASE64URL.decode(token.split('.').nth(n)?).ok()?;
    serde_json::from_slice(&bytes).ok()
}

impl std::fmt::Debug for KeySet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeySet({} keys)", self.keys.len())
    }
}

#[cfg(test)]
mod tests;
