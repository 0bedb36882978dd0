//! What the claims of a token must say, and what they allow.

use gatehouse_core::Timestamp;
use gatehouse_core::rights::{Rights, Tenants, scopes_from_words};
use gatehouse_vault::Claims;
use serde_json::Value;

use super::{Caller, ISSUER, Unknown};

/// How far clocks may disagree.
pub(super) const LEEWAY_SECONDS: f64 = 60.0;

/// What an issuer's claims must say, and what they are called.
#[derive(Clone, Debug)]
pub(super) struct ClaimRules {
    pub(super) issuer: String,
    pub(super) audience: String,
    pub(super) tenants_claim: String,
    pub(super) scope_claim: String,
}

/// When a token is good, in seconds since 1970. Numeric dates may have fractions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Validity {
    begins: Option<f64>,
    expires: f64,
}

impl ClaimRules {
    /// Those of the built-in issuer.
    pub(super) fn of_our_own(audience: String) -> Self {
        Self {
            issuer: ISSUER.into(),
            audience,
            tenants_claim: "tenants".into(),
            scope_claim: "scope".into(),
        }
    }

    /// Who the claims of a token that was signed speak of, and when they hold.
    pub(super) fn read(&self, claims: &Claims) -> Result<(Caller, Validity), Unknown> {
        if claims.get("iss").and_then(Value::as_str) != Some(&self.issuer) {
            return Err(Unknown::OtherIssuer);
        }
        if !strings(claims.get("aud")).contains(&self.audience.as_str()) {
            return Err(Unknown::OtherAudience);
        }
        // A date that is there must be one.
        let date = |name| claims.get(name).map(|it| it.as_f64().filter(|date| date.is_finite()));
        let expires = date("exp").flatten().ok_or(Unknown::Expired)?;
        let begins = date("nbf").map(|it| it.ok_or(Unknown::NotYetValid)).transpose()?;
        let scopes = strings(find(claims, &self.scope_claim)).join(" ");
        let rights = Rights {
            tenants: Tenants::from_words(strings(find(claims, &self.tenants_claim))),
            scopes: scopes_from_words(&scopes),
        };
        let caller = Caller { subject: subject(claims), rights, expires: instant(expires) };
        Ok((caller, Validity { begins, expires }))
    }
}

impl Validity {
    /// Whether the token is good by now.
    pub(super) fn check(self, now: Timestamp) -> Result<(), Unknown> {
        let now = now.as_second() as f64;
        if self.expires + LEEWAY_SECONDS <= now {
            return Err(Unknown::Expired);
        }
        match self.begins {
            Some(begins) if begins - LEEWAY_SECONDS > now => Err(Unknown::NotYetValid),
            _ => Ok(()),
        }
    }
}

/// A numeric date as an instant; one that the calendar doesn't have is its end.
fn instant(date: f64) -> Timestamp {
    Timestamp::EPOCH.plus_milliseconds((date * 1000.0) as i64)
}

/// Whose token it is. A machine's often names only its client.
fn subject(claims: &Claims) -> String {
    let named = |name: &&str| claims.get(*name).and_then(Value::as_str);
    ["sub", "client_id", "azp"].iter().find_map(named).unwrap_or_default().to_owned()
}

/// A claim by its name, which may have dots in it, or by its path through objects.
fn find<'c>(claims: &'c Claims, name: &str) -> Option<&'c Value> {
    if let Some(claim) = claims.get(name) {
        return Some(claim);
    }
    let (outer, rest) = name.split_once('.')?;
    match claims.get(outer)? {
        Value::Object(inner) => find(inner, rest),
        _ => None,
    }
}

/// A claim that may be one string or an array of them.
fn strings(claim: Option<&Value>) -> Vec<&str> {
    match claim {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}
