//! Fuzz targets of the client: addresses, response headers, and texts about responses.

use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method, StatusCode};
use reqwest::Url;
use tokio::time::Instant;
use zeroize::Zeroizing;

use super::call_gate::CallGate;
use super::pause::{reset_after, retry_after};
use super::secrets::Secrets;
use super::{
    AddressRules, BaseUrl, DETAIL_BYTES_MAX, Network, PlatformRequest, PlatformResponse, redirect,
};
use crate::connector::{CallKind, ResetUnit, WaitRule};
use crate::fuzzing::FuzzedResponse;

/// A secret that no text may contain.
const SECRET: &str = "S3cret/Word+";

/// A response to an account whose secret is [`SECRET`].
pub(crate) fn response(status: StatusCode, headers: HeaderMap, body: Vec<u8>) -> PlatformResponse {
    PlatformResponse {
        status,
        headers,
        body: Bytes::from(body),
        reset_after: None,
        includes_text: true,
        document: OnceLock::new(),
        secrets: secrets(),
        _permit: None,
    }
}

fn secrets() -> Secrets {
    Secrets::new(vec![Zeroizing::new(SECRET.to_owned())])
}

/// Response headers say how long to wait and where to redirect: never to another origin, and never with credentials.
pub(crate) fn headers(bytes: &[u8]) {
    let Some(FuzzedResponse { word, response }) = FuzzedResponse::read(bytes) else { return };
    let waits = [ResetUnit::Seconds, ResetUnit::Epoch].map(|unit| reset(&response, unit));
    for wait in waits.into_iter().chain([retry_after(&response.headers)]).flatten() {
        // A platform may ask for a longer pause than the clock can represent.
        CallGate::default().pause_for(wait, Instant::now());
    }
    let request = PlatformRequest {
        kind: CallKind::List,
        method: Method::GET,
        target: String::new(),
        headers: HeaderMap::new(),
        body: Bytes::new(),
        is_repeatable: true,
    };
    let from = Url::parse("https://api.example:8443/v1/list?page=2").expect("an address");
    match redirect::next(&request, &from, &response, usize::from(word == "again") * 3) {
        Ok(None) => {}
        Ok(Some(next)) => {
            assert!(response.status.is_redirection() && word != "again");
            assert_eq!(next.origin(), from.origin());
            assert!(next.username().is_empty() && next.password().is_none());
            assert!(next.fragment().is_none());
        }
        Err(why) => assert!(why.starts_with("the platform answered ")),
    }
}

fn reset(response: &PlatformResponse, unit: ResetUnit) -> Option<Duration> {
    let wait = WaitRule {
        reset: HeaderName::from_static("x-ratelimit-reset"),
        remaining: Some(HeaderName::from_static("x-ratelimit-remaining")),
        unit,
    };
    reset_after(response.status, &response.headers, &wait)
}

/// A parsed address is https, parses again as printed, and no target leads out of it.
pub(crate) fn url(text: &str) {
    let strict = AddressRules::default();
    if let Ok(base) = BaseUrl::parse(text, &strict) {
        let printed = base.to_string();
        assert!(printed.starts_with("https://"), "{printed}");
        assert_eq!(BaseUrl::parse(&printed, &strict).as_ref(), Ok(&base), "{printed}");
    }
    let base = BaseUrl::parse("https://api.example/v1", &strict).expect("an address");
    if let Some(joined) = base.join(text) {
        assert!(base.is_origin_of(&joined), "{joined}");
        assert!(joined.username().is_empty() && joined.password().is_none(), "{joined}");
        // An absolute URL may have any path on the platform; a path stays behind the base.
        let is_whole = Url::parse(text).is_ok();
        assert!(
            is_whole || joined.path() == "/v1" || joined.path().starts_with("/v1/"),
            "{joined}"
        );
    }
    if let Ok(network) = text.parse::<Network>() {
        assert_eq!(network.to_string().parse(), Ok(network));
    }
}

/// Cleaned text is bounded, and has no control characters and no secret, wherever the secret stands.
pub(crate) fn words(bytes: &[u8]) {
    let secrets = secrets();
    let middle = bytes.len() / 2;
    let text = [&bytes[..middle], SECRET.as_bytes(), &bytes[middle..]].concat();
    for max in [0, 7, DETAIL_BYTES_MAX] {
        let clean = secrets.clean(&text, max);
        assert!(clean.len() <= max);
        assert!(!clean.chars().any(char::is_control));
        assert!(!clean.to_ascii_lowercase().contains(&SECRET.to_ascii_lowercase()), "{clean}");
    }
}
