//! Fuzz targets for tokens, their claims, and issuers' documents.

use std::sync::LazyLock;

use futures_util::FutureExt;
use gatehouse_core::Timestamp;
use gatehouse_core::rights::scopes_from_words;
use gatehouse_vault::{KeySet, TokenKeys};
use http::{HeaderMap, header};
use reqwest::Url;
use serde_json::Value;

use super::discovery::{max_age, time};
use super::sign_in::SignInDocument;
use super::{Auth, AuthError, Caller, Grant, ISSUER};
use crate::config::safe_url::is_safe;

/// Audience of the tokens.
const AUDIENCE: &str = "gatehouse";

/// The built-in issuer, with random keys.
static AUTH: LazyLock<Auth> =
    LazyLock::new(|| Auth::new(TokenKeys::generate(), AUDIENCE.to_owned()));

fn now() -> Timestamp {
    "2026-11-17T12:00:00Z".parse().expect("an instant")
}

fn authenticate(header: &str) -> Result<Caller, AuthError> {
    // Fixed keys need no fetch and no wait.
    let caller = AUTH.authenticate(Some(header), now()).now_or_never();
    caller.expect("a fixed key needs no wait").map(|it| Caller::clone(&it))
}

/// A header that was made without the key is always refused, and a signed token is accepted with any valid scheme.
pub(crate) fn authorization(header: &str) {
    assert!(authenticate(header).is_err());
    static TOKEN: LazyLock<String> = LazyLock::new(|| {
        let scopes = scopes_from_words("access:read");
        let tenants = vec!["acme".to_owned()];
        let grant = Grant { subject: "s".to_owned(), tenants, lifetime_seconds: 60, scopes };
        AUTH.issue(&grant, now()).text
    });
    let (scheme, rest) = header.split_once(' ').unwrap_or((header, ""));
    let is_ours = scheme.eq_ignore_ascii_case("bearer") && rest.trim().is_empty();
    assert_eq!(authenticate(&format!("{header} {}", *TOKEN)).is_ok(), is_ours);
}

/// A caller's token has our issuer and is valid now, whatever claims the key has signed.
pub(crate) fn claims(bytes: &[u8]) {
    let Ok(Value::Object(claims)) = serde_json::from_slice(bytes) else { return };
    let token = AUTH.built_in.signing().sign(&claims);
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    match authenticate(&format!("Bearer {token}")) {
        Ok(caller) => {
            assert_eq!(text("iss"), Some(ISSUER));
            assert!(caller.expires.as_millisecond() + 60_000 >= now().as_millisecond());
            let names = caller.rights.tenants.words().count();
            assert!(names == 0 || claims.contains_key("tenants"));
            assert!(caller.rights.scopes.is_empty() || claims.contains_key("scope"));
        }
        Err(AuthError::OtherIssuer) => assert_ne!(text("iss"), Some(ISSUER)),
        // The server refuses a malformed date or subject before it checks the issuer.
        Err(AuthError::NotTrusted) => {
            let is_date = |name: &&str| claims.get(*name).is_none_or(Value::is_number);
            let has_subject = claims.get("sub").is_none_or(Value::is_string);
            let is_formed = has_subject && ["exp", "nbf"].iter().all(is_date);
            assert!(text("iss").is_none() || !is_formed);
        }
        Err(_) => assert_eq!(text("iss"), Some(ISSUER)),
    }
}

/// No document leads to a sign-in address that others on the network could read.
pub(crate) fn issuer(bytes: &[u8]) {
    let _ = KeySet::parse(bytes);
    if let Ok(document) = serde_json::from_slice::<Value>(bytes) {
        let endpoints = SignInDocument::read(&document, is_safe);
        let addresses =
            [endpoints.authorization, endpoints.token, endpoints.end_session, endpoints.revocation];
        let is_open = |it: &Url| it.scheme() == "https" || it.scheme() == "http" && is_safe(it);
        assert!(addresses.iter().flatten().all(is_open));
    }
    let mut headers = HeaderMap::new();
    if let Ok(value) = http::HeaderValue::from_bytes(bytes) {
        headers.insert(header::CACHE_CONTROL, value.clone());
        headers.insert(header::DATE, value);
        let _ = (max_age(&headers), time(&headers));
    }
}
