//! Authentication: bearer tokens, and the rights in their claims.
//!
//! A token is accepted when a configured issuer or the built-in one has signed it and its claims hold now. A signature
//! check costs more than the rest of most requests, so accepted tokens are cached while they are valid.

mod built_in_issuer;
mod claims;
mod discovery;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod issuer;
mod meter;
pub(crate) mod revocations;
mod sign_in;
mod token_cache;

pub use discovery::BadIssuer;
#[cfg(test)]
pub(crate) use issuer::tests::{IssuerReply, TestIssuer};
pub use issuer::{Issuer, IssuerStatus};
pub use revocations::Revocations;
pub use sign_in::{SignIn, SignInEndpoints};

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::join_all;
use gatehouse_core::Timestamp;
use gatehouse_core::ids::time_ordered;
use gatehouse_core::rights::{Rights, Scope, scopes_to_words};
use gatehouse_store::{Clock, Store};
use gatehouse_vault::{KeySet, TokenKeys, named_issuer, random, token_digest};
use serde_json::{Value, json};

use crate::keys::TokenKeyStore;
use built_in_issuer::BuiltInIssuer;
use claims::ClaimRules;
use meter::TokenMeter;
use token_cache::{CachedToken, TokenCache};

/// The built-in issuer's name (`iss`).
pub const ISSUER: &str = "gatehouse";

/// Longest accepted token.
const TOKEN_BYTES_MAX: usize = 16 * 1024;

/// The holder of an accepted token.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The token's subject; empty where it has none.
    pub subject: String,
    /// The token's rights.
    pub rights: Rights,
    /// When the token expires.
    pub expires: Timestamp,
}

/// Why a token is refused. The text goes to the client and tells nothing about the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// The request has no token.
    #[error("the request needs the header `Authorization: Bearer <token>`, once")]
    NoToken,
    /// No trusted issuer signed the token.
    #[error(
        "the token is malformed, or no issuer that is trusted here has signed it; perhaps it was made \
         with another data directory or database"
    )]
    NotTrusted,
    /// The token has expired, or has no expiry.
    #[error("the token has expired, or says nothing about when it does (`exp`)")]
    Expired,
    /// The token isn't valid yet.
    #[error("the token is not valid yet (`nbf`)")]
    NotYetValid,
    /// The token has another audience.
    #[error("the token is meant for another audience (`aud`)")]
    OtherAudience,
    /// The token's issuer isn't trusted.
    #[error("the token names another issuer (`iss`) than those that are trusted here")]
    OtherIssuer,
    /// The token was revoked, or its client or tenant was deleted.
    #[error("the token was revoked, or its client or tenant was deleted")]
    Revoked,
    /// The token isn't an access token, or is valid for longer than its issuer's tokens may be.
    #[error(
        "the token is not an access token (`typ`; `nonce` and `at_hash` are an ID token's), or is good for longer than \
         the tokens of its issuer may be"
    )]
    NotForAccess,
    /// The issuer is trusted, but its keys can't be fetched.
    #[error("the keys of the token's issuer can't be fetched now, so the token can't be checked")]
    IssuerDown,
}

/// Contents of a new token.
#[derive(Clone, Debug)]
pub struct Grant {
    /// The subject.
    pub subject: String,
    /// The tenants; `*` for all.
    pub tenants: Vec<String>,
    /// The scopes.
    pub scopes: BTreeSet<Scope>,
    /// Validity in seconds.
    pub lifetime_seconds: i64,
}

/// A new token.
#[derive(Clone)]
pub struct IssuedToken {
    /// The token itself, which is a secret.
    pub text: String,
    /// The token's identifier (`jti`).
    pub id: String,
    /// When it expires.
    pub expires: Timestamp,
}

/// Checks tokens, and issues those of the built-in issuer.
pub struct Auth {
    built_in: BuiltInIssuer,
    built_in_rules: ClaimRules,
    issuers: Vec<Issuer>,
    token_cache: TokenCache,
    revocations: Revocations,
    /// Source of other servers' revocations.
    store: Option<Store>,
    meter: TokenMeter,
}

impl Auth {
    /// Trusts tokens for `audience` that `keys` have signed.
    pub fn new(keys: TokenKeys, audience: String) -> Self {
        Self {
            built_in: BuiltInIssuer::fixed(keys),
            built_in_rules: ClaimRules::of_built_in(audience),
            issuers: Vec::new(),
            token_cache: TokenCache::default(),
            revocations: Revocations::default(),
            store: None,
            meter: TokenMeter::new(),
        }
    }

    /// Adds trusted issuers.
    pub fn trusting(self, issuers: Vec<Issuer>) -> Self {
        Self { issuers, ..self }
    }

    /// Adds the revocations, and the store to reload them from.
    pub fn with_revocations(self, revocations: Revocations, store: Store) -> Self {
        Self { revocations, store: Some(store), ..self }
    }

    /// Reloads the built-in issuer's keys from `store` from now on: an operator may rotate them.
    pub fn with_key_reload(self, store: TokenKeyStore, clock: Clock) -> Self {
        Self { built_in: self.built_in.with_reload(store, clock), ..self }
    }

    /// Keeps the keys of all issuers and the revocations fresh. Never returns.
    pub async fn keep_fresh(&self) {
        let issuers = join_all(self.issuers.iter().map(|issuer| issuer.keep_fresh(&self.meter)));
        let revocations = async {
            match &self.store {
                Some(store) => self.revocations.keep_fresh(store).await,
                None => std::future::pending().await,
            }
        };
        tokio::join!(issuers, revocations, self.built_in.keep_fresh());
    }

    /// Figures of tokens.
    pub(crate) fn meter(&self) -> &TokenMeter {
        &self.meter
    }

    /// Finds the caller by the request's `Authorization` header.
    pub async fn authenticate(
        &self,
        header: Option<&str>,
        now: Timestamp,
    ) -> Result<Arc<Caller>, AuthError> {
        let caller = self.find_caller(header, now).await;
        self.meter.count(&caller);
        caller
    }

    async fn find_caller(
        &self,
        header: Option<&str>,
        now: Timestamp,
    ) -> Result<Arc<Caller>, AuthError> {
        let token = token_in(header)?;
        let digest = token_digest(token);
        if let Some(cached) = self.cached(&digest) {
            self.meter.count_cached();
            cached.validity.check(now)?;
            return self.revocations.check(&cached.caller, &cached.token);
        }
        // Boxed, because most tokens are cached.
        Box::pin(self.find_new(token, digest, now)).await
    }

    /// Finds the caller of a request that goes on, by the header that it began with. Not counted as a request.
    pub(crate) async fn check_again(
        &self,
        header: Option<&str>,
        now: Timestamp,
    ) -> Result<Arc<Caller>, AuthError> {
        let token = token_in(header)?;
        let digest = token_digest(token);
        match self.cached(&digest) {
            Some(cached) => {
                cached.validity.check(now)?;
                self.revocations.check(&cached.caller, &cached.token)
            }
            None => self.find_new(token, digest, now).await,
        }
    }

    fn cached(&self, digest: &[u8; 32]) -> Option<CachedToken> {
        self.token_cache.get(digest).filter(|it| self.still_has(it.issuer, &it.keys))
    }

    async fn find_new(
        &self,
        token: &str,
        digest: [u8; 32],
        now: Timestamp,
    ) -> Result<Arc<Caller>, AuthError> {
        let cached = self.verify(token, now).await?;
        self.token_cache.insert(digest, cached.clone());
        self.revocations.check(&cached.caller, &cached.token)
    }

    /// Whether the issuer still has these keys; `None` is the built-in issuer.
    fn still_has(&self, issuer: Option<usize>, keys: &Arc<KeySet>) -> bool {
        match issuer {
            None => Arc::ptr_eq(&self.built_in.trusted(), keys),
            Some(n) => self.issuers[n].keys().is_some_and(|now| Arc::ptr_eq(&now, keys)),
        }
    }

    async fn verify(&self, token: &str, now: Timestamp) -> Result<CachedToken, AuthError> {
        // The issuer's name only selects the keys; nothing else is trusted before the signature is checked.
        let name = named_issuer(token).ok_or(AuthError::NotTrusted)?;
        let issuer = self.issuers.iter().position(|it| it.name() == name);
        let (claims, keys, rules) = match issuer {
            Some(n) => {
                let (claims, keys) = self.issuers[n].verify(token, &self.meter).await?;
                (claims, keys, self.issuers[n].rules())
            }
            None if name == ISSUER => {
                let (claims, keys) = self.built_in.verify(token).await?;
                (claims, keys, &self.built_in_rules)
            }
            None => return Err(AuthError::OtherIssuer),
        };
        rules.check_type(token, &claims)?;
        let (caller, validity) = rules.read(&claims, now)?;
        validity.check(now)?;
        let token = Arc::new(rules.revocation_key(&claims));
        Ok(CachedToken { caller: Arc::new(caller), validity, token, issuer, keys })
    }

    /// Issues a token of the built-in issuer.
    pub fn issue(&self, grant: &Grant, now: Timestamp) -> IssuedToken {
        self.meter.count_issued();
        let id = time_ordered(now.unix_milliseconds(), &random::bytes()).to_string();
        let claims = json!({
            "iss": ISSUER,
            "aud": self.built_in_rules.audience,
            "sub": grant.subject,
            "jti": id,
            "iat": now.as_second(),
            "exp": now.as_second().saturating_add(grant.lifetime_seconds),
            "tenants": grant.tenants,
            "scope": scopes_to_words(&grant.scopes),
        });
        let text = match claims {
            Value::Object(claims) => self.built_in.signing().sign(&claims),
            _ => unreachable!("claims are written as an object above"),
        };
        let expires = now.plus_milliseconds(grant.lifetime_seconds.saturating_mul(1000));
        IssuedToken { text, id, expires }
    }

    /// The issuers that users can sign in with, in the order of the settings.
    pub fn sign_ins(&self) -> Vec<SignIn> {
        self.issuers.iter().filter_map(Issuer::sign_in).collect()
    }

    /// The built-in issuer's public keys.
    pub fn jwks(&self) -> Value {
        self.built_in.jwks()
    }
}

/// The token in an `Authorization` header.
fn token_in(header: Option<&str>) -> Result<&str, AuthError> {
    let (scheme, token) = header.and_then(|it| it.split_once(' ')).ok_or(AuthError::NoToken)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(AuthError::NoToken);
    }
    let token = token.trim();
    if token.len() > TOKEN_BYTES_MAX { Err(AuthError::NotTrusted) } else { Ok(token) }
}

#[cfg(test)]
mod tests;
