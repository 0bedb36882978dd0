//! Who is calling: bearer tokens, and what their claims allow.

use std::collections::BTreeSet;

use gatehouse_core::Timestamp;
use gatehouse_core::ids::time_ordered;
use gatehouse_core::rights::{Rights, Scope, Tenants, scopes_from_words};
use gatehouse_vault::{TokenKey, chance};
use serde_json::{Map, Value, json};

use crate::app::unix_milliseconds;

/// The built-in issuer's name.
pub const ISSUER: &str = "gatehouse";

/// How far clocks may disagree.
const LEEWAY_SECONDS: i64 = 60;

/// Longest token that is looked at.
const TOKEN_BYTES_MAX: usize = 16 * 1024;

/// Somebody whose token was checked.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The token's subject, for the log.
    pub subject: String,
    /// What the token allows.
    pub rights: Rights,
}

/// Why nobody is recognised. The text goes to the client and says nothing of the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
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
    #[error("the token names another issuer (`iss`)")]
    OtherIssuer,
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
    key: TokenKey,
    audience: String,
}

impl Auth {
    /// Trusts what `key` signs for `audience`.
    pub fn new(key: TokenKey, audience: String) -> Self {
        Self { key, audience }
    }

    /// Who sent a request with this `Authorization` header.
    pub fn authenticate(&self, header: Option<&str>, now: Timestamp) -> Result<Caller, Unknown> {
        let (scheme, token) = header.and_then(|it| it.split_once(' ')).ok_or(Unknown::NoToken)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(Unknown::NoToken);
        }
        let token = token.trim();
        if token.len() > TOKEN_BYTES_MAX {
            return Err(Unknown::NotTrusted);
        }
        let claims = self.key.verify(token).map_err(|_| Unknown::NotTrusted)?;
        self.check(&claims, now)?;
        Ok(Caller {
            subject: claims.get("sub").and_then(Value::as_str).unwrap_or_default().to_owned(),
            rights: rights(&claims),
        })
    }

    fn check(&self, claims: &Map<String, Value>, now: Timestamp) -> Result<(), Unknown> {
        if claims.get("iss").and_then(Value::as_str) != Some(ISSUER) {
            return Err(Unknown::OtherIssuer);
        }
        let audience = words(claims.get("aud"));
        if !audience.contains(&self.audience.as_str()) {
            return Err(Unknown::OtherAudience);
        }
        // Numeric dates may have fractions.
        let date = |name| claims.get(name).and_then(Value::as_f64);
        let now = now.as_second() as f64;
        let expires = date("exp").ok_or(Unknown::Expired)?;
        if expires + LEEWAY_SECONDS as f64 <= now {
            return Err(Unknown::Expired);
        }
        match (date("nbf"), claims.contains_key("nbf")) {
            (Some(begins), _) if begins - LEEWAY_SECONDS as f64 > now => Err(Unknown::NotYetValid),
            (None, true) => Err(Unknown::NotYetValid),
            _ => Ok(()),
        }
    }

    /// Issues a token of the built-in issuer.
    pub fn issue(&self, grant: &Grant, now: Timestamp) -> String {
        let scopes: Vec<&str> = grant.scopes.iter().map(|scope| scope.as_str()).collect();
        let id = time_ordered(unix_milliseconds(now), &chance::bytes());
        let claims = json!({
            "iss": ISSUER,
            "aud": self.audience,
            "sub": grant.subject,
            "jti": id.to_string(),
            "iat": now.as_second(),
            "exp": now.as_second().saturating_add(grant.lifetime_seconds),
            "tenants": grant.tenants,
            "scope": scopes.join(" "),
        });
        match claims {
            Value::Object(claims) => self.key.sign(&claims),
            _ => unreachable!("claims are written as an object above"),
        }
    }

    /// The public keys, for whoever wants to check our tokens.
    pub fn jwks(&self) -> Value {
        self.key.jwks()
    }
}

fn rights(claims: &Map<String, Value>) -> Rights {
    let scopes = claims.get("scope").and_then(Value::as_str).unwrap_or_default();
    Rights {
        tenants: Tenants::from_words(words(claims.get("tenants"))),
        scopes: scopes_from_words(scopes),
    }
}

/// A claim that may be one string or an array of them.
fn words(claim: Option<&Value>) -> Vec<&str> {
    match claim {
        Some(Value::String(word)) => vec![word],
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
