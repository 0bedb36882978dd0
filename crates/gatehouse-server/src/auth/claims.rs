//! What the claims of a token must say, and what they allow.

use std::collections::BTreeSet;

use gatehouse_core::Timestamp;
use gatehouse_core::ids::milliseconds_of;
use gatehouse_core::rights::{Rights, Scope, Tenants, scopes_from_words};
use gatehouse_vault::{Claims, token_type};
use serde_json::Value;

use super::revocations::TokenName;
use super::{AuthError, Caller, ISSUER};

/// How far clocks may disagree.
pub(super) const LEEWAY_SECONDS: f64 = 60.0;

/// What an issuer's claims must say, and what they are called.
#[derive(Clone, Debug)]
pub(super) struct ClaimRules {
    pub(super) issuer: String,
    pub(super) audience: String,
    pub(super) tenants_claim: String,
    pub(super) scope_claim: String,
    /// What else binds an issuer that isn't our own.
    pub(super) bounds: Option<Bounds>,
}

/// What an issuer may say, whatever its tokens say.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    /// The tenants that it may name; without them, any by its name, but not all at once.
    pub(super) tenants: Option<BTreeSet<String>>,
    /// The scopes that it may give; without them, all.
    pub(super) scopes: Option<BTreeSet<Scope>>,
    /// What its tokens may call themselves (`typ`); without it, what access tokens do.
    pub(super) token_types: Option<Vec<String>>,
    /// How long its tokens may be good for, in seconds.
    pub(super) lifetime_max: f64,
}

/// What access tokens call themselves: RFC 7519's word, and RFC 9068's.
const ACCESS_TOKEN_TYPES: [&str; 2] = [ANY_TOKEN, "at+jwt"];
const ANY_TOKEN: &str = "JWT";

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
            bounds: None,
        }
    }

    /// Refuses a token that is no access token.
    pub(super) fn check_type(&self, token: &str, claims: &Claims) -> Result<(), AuthError> {
        let Some(bounds) = &self.bounds else { return Ok(()) };
        let typ = token_type(token);
        // A media type may be written without its beginning (RFC 7515, section 4.1.9).
        let typ = typ.as_deref().map(|it| it.strip_prefix("application/").unwrap_or(it));
        let is = |word: &str| typ.is_some_and(|typ| word.eq_ignore_ascii_case(typ));
        let is_listed = match &bounds.token_types {
            Some(types) => types.iter().any(|it| is(it)),
            None => typ.is_none() || ACCESS_TOKEN_TYPES.into_iter().any(is),
        };
        // A name of its own says what it is; `JWT` and none say nothing.
        let is_named = typ.is_some() && !is(ANY_TOKEN);
        let claimed = claims.get("typ").and_then(Value::as_str);
        let has = |name: &&str| claims.contains_key(*name);
        let is_for_sign_in = ["at_hash", "c_hash"].iter().any(has)
            || (has(&"nonce") && claimed != Some("Bearer"))
            || claimed == Some("ID");
        if is_listed && (is_named || !is_for_sign_in) {
            Ok(())
        } else {
            Err(AuthError::NotForAccess)
        }
    }

    /// What tells a token from others, as far as trust in it can end.
    pub(super) fn name_of(&self, claims: &Claims) -> TokenName {
        let id = claims.get("jti").and_then(Value::as_str).map(str::to_owned);
        let is_own = self.bounds.is_none();
        // Our own tokens have their time in their identifier, to the millisecond.
        let by_id = || {
            id.as_deref().and_then(milliseconds_of).map(|it| Timestamp::EPOCH.plus_milliseconds(it))
        };
        let by_claim = claims.get("iat").and_then(Value::as_f64).map(instant);
        let issued = if is_own { by_id().or(by_claim) } else { by_claim };
        TokenName { is_own, id, issued }
    }

    /// Who the claims of a token that was signed speak of, and when they hold.
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
        // A date that is there must be one.
        let date = |name| claims.get(name).map(|it| it.as_f64().filter(|date| date.is_finite()));
        let expires = date("exp").flatten().ok_or(AuthError::Expired)?;
        let begins = date("nbf").map(|it| it.ok_or(AuthError::NotYetValid)).transpose()?;
        let issued = date("iat").map(|it| it.ok_or(AuthError::NotYetValid)).transpose()?;
        let scopes = strings(find(claims, &self.scope_claim)).join(" ");
        let mut scopes = scopes_from_words(&scopes);
        let mut tenants = strings(find(claims, &self.tenants_claim));
        if let Some(bounds) = &self.bounds {
            tenants.retain(|name| match &bounds.tenants {
                Some(named) => named.contains(*name) || named.contains(Tenants::ALL_WORD),
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
    /// Whether the token is good by now.
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

#[cfg(test)]
mod tests;
