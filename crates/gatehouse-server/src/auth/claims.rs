//! Checking a token's claims, and reading the rights in them.

use std::collections::BTreeSet;

use gatehouse_core::Timestamp;
use gatehouse_core::ids::milliseconds_of;
use gatehouse_core::rights::{Rights, Scope, Tenants, scopes_from_words};
use gatehouse_vault::{Claims, token_type};
use serde_json::Value;

use super::revocations::RevocationKey;
use super::{AuthError, Caller, ISSUER};

/// Allowed clock skew.
pub(super) const LEEWAY_SECONDS: f64 = 60.0;

/// Names and required values of an issuer's claims.
#[derive(Clone, Debug)]
pub(super) struct ClaimRules {
    pub(super) issuer: String,
    pub(super) audience: String,
    pub(super) tenants_claim: String,
    pub(super) scope_claim: String,
    /// Bounds of an external issuer.
    pub(super) bounds: Option<Bounds>,
}

/// Limits on an external issuer's tokens, whatever their claims.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    /// Allowed tenants; `None` for any tenant by name, but not `*`.
    pub(super) tenants: Option<BTreeSet<String>>,
    /// Allowed scopes; `None` for all.
    pub(super) scopes: Option<BTreeSet<Scope>>,
    /// Allowed token types (`typ`); `None` for those of access tokens.
    pub(super) token_types: Option<Vec<String>>,
    /// Longest validity in seconds.
    pub(super) lifetime_max: f64,
}

/// Types of access tokens, by RFC 7519 and RFC 9068.
const ACCESS_TOKEN_TYPES: [&str; 2] = [GENERIC_TYPE, "at+jwt"];
const GENERIC_TYPE: &str = "JWT";

/// A token's validity in seconds since 1970. Numeric dates may have fractions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Validity {
    begins: Option<f64>,
    expires: f64,
}

impl ClaimRules {
    /// The built-in issuer's rules.
    pub(super) fn of_built_in(audience: String) -> Self {
        Self {
            issuer: ISSUER.into(),
            audience,
            tenants_claim: "tenants".into(),
            scope_claim: "scope".into(),
            bounds: None,
        }
    }

    /// Refuses a token that isn't an access token.
    pub(super) fn check_type(&self, token: &str, claims: &Claims) -> Result<(), AuthError> {
        let Some(bounds) = &self.bounds else { return Ok(()) };
        let typ = token_type(token);
        // The prefix of a media type may be omitted (RFC 7515, section 4.1.9).
        let typ = typ.as_deref().map(|it| it.strip_prefix("application/").unwrap_or(it));
        let is = |word: &str| typ.is_some_and(|typ| word.eq_ignore_ascii_case(typ));
        let is_listed = match &bounds.token_types {
            Some(types) => types.iter().any(|it| is(it)),
            None => typ.is_none() || ACCESS_TOKEN_TYPES.into_iter().any(is),
        };
        // A specific type is decisive; `JWT` and no type are not.
        let is_typed = typ.is_some() && !is(GENERIC_TYPE);
        let claimed = claims.get("typ").and_then(Value::as_str);
        let has = |name: &&str| claims.contains_key(*name);
        let is_id_token = ["at_hash", "c_hash"].iter().any(has)
            || (has(&"nonce") && claimed != Some("Bearer"))
            || claimed == Some("ID");
        if is_listed && (is_typed || !is_id_token) { Ok(()) } else { Err(AuthError::NotForAccess) }
    }

    /// The parts of a token that a revocation can match.
    pub(super) fn revocation_key(&self, claims: &Claims) -> RevocationKey {
        let id = claims.get("jti").and_then(Value::as_str).map(str::to_owned);
        let is_built_in = self.bounds.is_none();
        // The ids of our own tokens hold their time in milliseconds.
        let by_id = || {
            id.as_deref().and_then(milliseconds_of).map(|it| Timestamp::EPOCH.plus_milliseconds(it))
        };
        let by_claim = claims.get("iat").and_then(Value::as_f64).map(instant);
        let issued = if is_built_in { by_id().or(by_claim) } else { by_claim };
        RevocationKey { is_built_in, id, issued }
    }

    /// Reads the caller and the validity from verified claims.
    pub(super) fn read(
        &self,
        claims: &Claims,
        now: Timestamp,
    ) -> Result<(Caller, Validity), AuthError> {
        if claims.get("iss").and_then(Value::as_str) != Some(&self.issuer) {
            return Err(AuthError::OtherIssuer);
        }
        if !strings(claims.get("aud")).contains(&self.audience.as_str()) {
            return Err(AuthError::OtherAudience);
        }
        // A present date must be a number.
        let date = |name| claims.get(name).map(|it| it.as_f64().filter(|date| date.is_finite()));
        let expires = date("exp").flatten().ok_or(AuthError::Expired)?;
        let begins = date("nbf").map(|it| it.ok_or(AuthError::NotYetValid)).transpose()?;
        let issued = date("iat").map(|it| it.ok_or(AuthError::NotYetValid)).transpose()?;
        let scopes = strings(find(claims, &self.scope_claim)).join(" ");
        let mut scopes = scopes_from_words(&scopes);
        let mut tenants = strings(find(claims, &self.tenants_claim));
        if let Some(bounds) = &self.bounds {
            tenants.retain(|name| match &bounds.tenants {
                Some(allowed) => allowed.contains(*name) || allowed.contains(Tenants::ALL_WORD),
                None => *name != Tenants::ALL_WORD,
            });
            scopes.retain(|scope| bounds.scopes.as_ref().is_none_or(|it| it.contains(scope)));
            let since = issued.unwrap_or(now.as_second() as f64);
            if expires - since > bounds.lifetime_max {
                return Err(AuthError::NotForAccess);
            }
        }
        // An `iat` in the future means a wrong clock or a forged claim.
        let begins = match (begins, issued) {
            (Some(begins), Some(issued)) => Some(begins.max(issued)),
            (begins, issued) => begins.or(issued),
        };
        let rights = Rights { tenants: Tenants::from_words(tenants), scopes };
        let caller = Caller { subject: subject(claims), rights, expires: instant(expires) };
        Ok((caller, Validity { begins, expires }))
    }
}

impl Validity {
    /// Whether the token is valid now.
    pub(super) fn check(self, now: Timestamp) -> Result<(), AuthError> {
        let now = now.as_second() as f64;
        if self.expires + LEEWAY_SECONDS <= now {
            return Err(AuthError::Expired);
        }
        match self.begins {
            Some(begins) if begins - LEEWAY_SECONDS > now => Err(AuthError::NotYetValid),
            _ => Ok(()),
        }
    }
}

/// Converts a numeric date; one beyond the calendar becomes its end.
fn instant(date: f64) -> Timestamp {
    Timestamp::EPOCH.plus_milliseconds((date * 1000.0) as i64)
}

/// The token's subject. A machine's token often names only its client.
fn subject(claims: &Claims) -> String {
    let named = |name: &&str| claims.get(*name).and_then(Value::as_str);
    ["sub", "client_id", "azp"].iter().find_map(named).unwrap_or_default().to_owned()
}

/// Finds a claim by its name, which may contain dots, or by its path through objects.
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

/// The strings of a claim that is one string or an array.
fn strings(claim: Option<&Value>) -> Vec<&str> {
    match claim {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
