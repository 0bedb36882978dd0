//! Who is calling: bearer tokens, and what their claims allow.
//!
//! A token is trusted when an issuer that is configured, or the built-in one, has signed it, and its
//! claims hold now. Checking a signature costs more than everything else about most requests, so a
//! token that was found good is remembered, until it expires or its issuer gives up the key.

mod built_in_issuer;
mod claims;
mod discovery;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod issuer;
mod memory;
mod meter;
pub(crate) mod revocations;
mod sign_in;

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
use memory::{Known, Remembered};
use meter::TokenMeter;

/// The built-in issuer's name.
pub const ISSUER: &str = "gatehouse";

/// Longest token that is looked at.
const TOKEN_BYTES_MAX: usize = 16 * 1024;

/// Somebody whose token was checked.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The token's subject; empty where it has none.
    pub subject: String,
    /// What the token allows.
    pub rights: Rights,
    /// When it ends.
    pub expires: Timestamp,
}

/// Why nobody is recognised. The text goes to the client and says nothing of the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// There is no token.
    #[error("the request needs the header `Authorization: Bearer <token>`, once")]
    NoToken,
    /// The token is not one of ours.
    #[error(
        "the token is malformed, or no issuer that is trusted here has signed it; perhaps it was made \
         with another data directory or database"
    )]
    NotTrusted,
    /// Its time is over, or has no end.
    #[error("the token has expired, or says nothing about when it does (`exp`)")]
    Expired,
    /// Its time has not come.
    #[error("the token is not valid yet (`nbf`)")]
    NotYetValid,
    /// It is meant for somebody else.
    #[error("the token is meant for another audience (`aud`)")]
    OtherAudience,
    /// It was issued by somebody else.
    #[error("the token names another issuer (`iss`) than those that are trusted here")]
    OtherIssuer,
    /// The token was revoked, or its client or tenant was deleted.
    #[error("the token was revoked, or its client or tenant was deleted")]
    Revoked,
    /// It is no access token, or lives longer than its issuer's may.
    #[error(
        "the token is not an access token (`typ`; `nonce` and `at_hash` are an ID token's), or is good for longer than \
         the tokens of its issuer may be"
    )]
    NotForAccess,
    /// Its issuer is trusted, but its keys can't be had just now.
    #[error("the keys of the token's issuer can't be had just now, so nobody can tell whose it is")]
    IssuerDown,
}

/// What a new token is to say.
#[derive(Clone, Debug)]
pub struct Grant {
    /// Whose it is.
    pub subject: String,
    /// For which tenants; `*` for all.
    pub tenants: Vec<String>,
    /// What it allows.
    pub scopes: BTreeSet<Scope>,
    /// How long it is good for.
    pub lifetime_seconds: i64,
}

/// Checks tokens, and issues those of the built-in issuer.
pub struct Auth {
    built_in: BuiltInIssuer,
    built_in_rules: ClaimRules,
    issuers: Vec<Issuer>,
    remembered: Remembered,
    ended: Revocations,
    /// Where others write down what has ended.
    store: Option<Store>,
    meter: TokenMeter,
}

impl Auth {
    /// Trusts what `keys` sign for `audience`.
    pub fn new(keys: TokenKeys, audience: String) -> Self {
        Self {
            built_in: BuiltInIssuer::fixed(keys),
            built_in_rules: ClaimRules::of_our_own(audience),
            issuers: Vec::new(),
            remembered: Remembered::default(),
            ended: Revocations::default(),
            store: None,
            meter: TokenMeter::new(),
        }
    }

    /// Trusts these issuers too.
    pub fn trusting(self, issuers: Vec<Issuer>) -> Self {
        Self { issuers, ..self }
    }

    /// Refuses whose trust has ended, also where others write that down.
    pub fn with_revocations(self, ended: Revocations, store: Store) -> Self {
        Self { ended, store: Some(store), ..self }
    }

    /// Looks for our own keys there from now on, where somebody may change them.
    pub fn with_key_reload(self, place: TokenKeyStore, clock: Clock) -> Self {
        Self { built_in: self.built_in.found_in(place, clock), ..self }
    }

    /// Fetches the keys of all issuers, now and before they are old, and looks for our own. It never ends.
    pub async fn keep_fresh(&self) {
        let issuers = join_all(self.issuers.iter().map(|issuer| issuer.keep_fresh(&self.meter)));
        let ended = async {
            match &self.store {
                Some(store) => self.ended.keep_fresh(store).await,
                None => std::future::pending().await,
            }
        };
        tokio::join!(issuers, ended, self.built_in.keep_fresh());
    }

    /// What is counted about tokens.
    pub(crate) fn meter(&self) -> &TokenMeter {
        &self.meter
    }

    /// Who sent a request with this `Authorization` header.
    pub async fn authenticate(
        &self,
        header: Option<&str>,
        now: Timestamp,
    ) -> Result<Arc<Caller>, AuthError> {
        let caller = self.recognise(header, now).await;
        self.meter.count(&caller);
        caller
    }

    async fn recognise(
        &self,
        header: Option<&str>,
        now: Timestamp,
    ) -> Result<Arc<Caller>, AuthError> {
        let (scheme, token) = header.and_then(|it| it.split_once(' ')).ok_or(AuthError::NoToken)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(AuthError::NoToken);
        }
        let token = token.trim();
        if token.len() > TOKEN_BYTES_MAX {
            return Err(AuthError::NotTrusted);
        }
        let digest = token_digest(token);
        if let Some(known) = self.remembered.recall(&digest)
            && self.still_has(known.issuer, &known.keys)
        {
            self.meter.count_remembered();
            known.validity.check(now)?;
            return self.ended.heed(&known.caller, &known.token);
        }
        // Boxed, since most tokens are remembered.
        let known = Box::pin(self.verify(token, now)).await?;
        self.remembered.remember(digest, known.clone());
        self.ended.heed(&known.caller, &known.token)
    }

    /// Whether the issuer, our own where there is no number, still stands by these keys.
    fn still_has(&self, issuer: Option<usize>, keys: &Arc<KeySet>) -> bool {
        match issuer {
            None => Arc::ptr_eq(&self.built_in.trusted(), keys),
            Some(n) => self.issuers[n].keys().is_some_and(|now| Arc::ptr_eq(&now, keys)),
        }
    }

    async fn verify(&self, token: &str, now: Timestamp) -> Result<Known, AuthError> {
        // Whom it names decides whose keys are tried, and nothing else before they have been.
        let named = named_issuer(token).ok_or(AuthError::NotTrusted)?;
        let issuer = self.issuers.iter().position(|it| it.name() == named);
        let (claims, keys, rules) = match issuer {
            Some(n) => {
                let (claims, keys) = self.issuers[n].verify(token, &self.meter).await?;
                (claims, keys, self.issuers[n].rules())
            }
            None if named == ISSUER => {
                let (claims, keys) = self.built_in.verify(token).await?;
                (claims, keys, &self.built_in_rules)
            }
            None => return Err(AuthError::OtherIssuer),
        };
        rules.check_type(token, &claims)?;
        let (caller, validity) = rules.read(&claims, now)?;
        validity.check(now)?;
        let token = Arc::new(rules.name_of(&claims));
        Ok(Known { caller: Arc::new(caller), validity, token, issuer, keys })
    }

    /// Issues a token of the built-in issuer.
    pub fn issue(&self, grant: &Grant, now: Timestamp) -> String {
        self.meter.count_issued();
        let id = time_ordered(now.unix_milliseconds(), &random::bytes());
        let claims = json!({
            "iss": ISSUER,
            "aud": self.built_in_rules.audience,
            "sub": grant.subject,
            "jti": id.to_string(),
            "iat": now.as_second(),
            "exp": now.as_second().saturating_add(grant.lifetime_seconds),
            "tenants": grant.tenants,
            "scope": scopes_to_words(&grant.scopes),
        });
        match claims {
            Value::Object(claims) => self.built_in.signing().sign(&claims),
            _ => unreachable!("claims are written as an object above"),
        }
    }

    /// The issuers that people can sign in with, in the order of the settings.
    pub fn sign_ins(&self) -> Vec<SignIn> {
        self.issuers.iter().filter_map(Issuer::sign_in).collect()
    }

    /// The public keys, for whoever wants to check our tokens.
    pub fn jwks(&self) -> Value {
        self.built_in.jwks()
    }
}

#[cfg(test)]
mod tests;
