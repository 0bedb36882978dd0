//! Fetching an issuer's discovery document and key set. The document also has the sign-in endpoints.
//!
//! Responses are bounded in size and time, redirects are not followed, and nothing of the client's request is sent.

use std::time::{Duration, UNIX_EPOCH};

use gatehouse_connectors::build_client;
use gatehouse_core::Timestamp;
use gatehouse_vault::KeySet;
use reqwest::{Client, Url};
use serde_json::Value;

use super::sign_in::SignInDocument;
use crate::config::IssuerUrl;
use crate::config::safe_url::is_safe;

/// Time limit of all requests to an issuer.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);

/// Largest response body in bytes.
const FETCHED_BYTES_MAX: usize = 1 << 20;

/// How long keys are fresh: the response's `max-age` within these bounds.
pub(super) const FRESH_DEFAULT: Duration = Duration::from_secs(15 * 60);
const FRESH_MIN: Duration = Duration::from_secs(60);
const FRESH_MAX: Duration = Duration::from_secs(60 * 60);

/// HTTP client of an issuer's discovery.
pub(super) struct Discovery {
    issuer: String,
    /// Whether the issuer is on this machine, by plain HTTP.
    is_local: bool,
    client: Client,
}

/// Why an issuer's keys can't be fetched, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadIssuer(String);

/// Fetched keys and endpoints, and how long they are fresh.
pub(super) struct Fetched {
    pub(super) keys: KeySet,
    pub(super) document: SignInDocument,
    pub(super) fresh: Duration,
    pub(super) time: Option<Timestamp>,
}

/// A response of the issuer.
struct FetchedDocument {
    body: Vec<u8>,
    max_age: Option<Duration>,
    time: Option<Timestamp>,
}

impl Discovery {
    pub(super) fn of(issuer: &IssuerUrl) -> Result<Self, BadIssuer> {
        let issuer = issuer.as_str().to_owned();
        let is_local = Url::parse(&issuer).is_ok_and(|url| url.scheme() == "http");
        let client = build_client(|builder| {
            let builder = builder
                .timeout(FETCH_TIMEOUT)
                .user_agent(concat!("gatehouse/", env!("CARGO_PKG_VERSION")))
                // Only the issuer's own document may name the address of its keys.
                .redirect(reqwest::redirect::Policy::none());
            // A proxy could answer for an issuer on this machine.
            if is_local { builder.no_proxy() } else { builder }
        });
        let client =
            client.map_err(|cause| BadIssuer(format!("no HTTP client: {}", root(&cause))))?;
        Ok(Self { issuer, is_local, client })
    }

    /// Fetches the keys within the time limit.
    pub(super) async fn fetch(&self) -> Result<Fetched, BadIssuer> {
        tokio::time::timeout(FETCH_TIMEOUT, self.fetch_all()).await.unwrap_or_else(|_| {
            let (issuer, seconds) = (&self.issuer, FETCH_TIMEOUT.as_secs());
            Err(BadIssuer(format!("{issuer} took longer than {seconds} s: is it up?")))
        })
    }

    async fn fetch_all(&self) -> Result<Fetched, BadIssuer> {
        let issuer = &self.issuer;
        let url = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let body = self.get(&url).await?.body;
        let document: Value =
            serde_json::from_slice(&body).map_err(|_| BadIssuer(format!("{url} has no JSON")))?;
        let text = |name: &str| document.get(name).and_then(Value::as_str);
        if text("issuer") != Some(issuer.as_str()) {
            let actual = text("issuer").unwrap_or("nothing");
            return Err(BadIssuer(format!(
                "{url} is the document of `{actual}`: write that into auth.issuers, letter by letter, \
                 if it is the right one"
            )));
        }
        let jwks_uri = text("jwks_uri").unwrap_or_default();
        if !Url::parse(jwks_uri).is_ok_and(|url| self.is_as_safe(&url)) {
            return Err(BadIssuer(format!(
                "{url} says that the keys are at `{jwks_uri}` (jwks_uri), which is no https address"
            )));
        }
        let key_set = self.get(jwks_uri).await?;
        let keys =
            KeySet::parse(&key_set.body).map_err(|bad| BadIssuer(format!("{jwks_uri}: {bad}")))?;
        let fresh = key_set.max_age.unwrap_or(FRESH_DEFAULT).clamp(FRESH_MIN, FRESH_MAX);
        let document = SignInDocument::read(&document, |url| self.is_as_safe(url));
        Ok(Fetched { keys, document, fresh, time: key_set.time })
    }

    /// Whether an address in the document is as safe as the issuer's: https is never left for http.
    fn is_as_safe(&self, url: &Url) -> bool {
        is_safe(url) && (self.is_local || url.scheme() == "https")
    }

    async fn get(&self, url: &str) -> Result<FetchedDocument, BadIssuer> {
        let failed = |cause: reqwest::Error| {
            BadIssuer(format!("{url} can't be reached ({}): is it up?", root(&cause)))
        };
        let mut response = self.client.get(url).send().await.map_err(failed)?;
        let status = response.status();
        if status != reqwest::StatusCode::OK {
            return Err(BadIssuer(format!("{url} answers {status}; 200 was expected")));
        }
        let (max_age, time) = (max_age(response.headers()), time(response.headers()));
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if body.len() + chunk.len() > FETCHED_BYTES_MAX {
                return Err(BadIssuer(format!("{url} answers with more than 1 MiB")));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(FetchedDocument { body, max_age, time })
    }
}

pub(super) fn max_age(headers: &http::HeaderMap) -> Option<Duration> {
    let value = headers.get(http::header::CACHE_CONTROL)?.to_str().ok()?;
    let value = value.to_ascii_lowercase();
    let seconds = value.split(',').find_map(|it| it.trim().strip_prefix("max-age="))?;
    seconds.parse().ok().map(Duration::from_secs)
}

/// The responder's time.
pub(super) fn time(headers: &http::HeaderMap) -> Option<Timestamp> {
    let value = headers.get(http::header::DATE)?.to_str().ok()?;
    let since = httpdate::parse_http_date(value).ok()?.duration_since(UNIX_EPOCH).ok()?;
    Timestamp::from_millisecond(i64::try_from(since.as_millis()).ok()?).ok()
}

/// The root cause of an error.
fn root(error: &dyn std::error::Error) -> String {
    let mut why = error;
    while let Some(source) = why.source() {
        why = source;
    }
    why.to_string()
}

#[cfg(test)]
mod tests {
    use super::max_age;

    #[test]
    fn keys_are_fresh_for_the_max_age_of_the_response() {
        let header = |value: &str| {
            let mut headers = http::HeaderMap::new();
            headers.insert("cache-control", value.parse().unwrap());
            max_age(&headers).map(|it| it.as_secs())
        };
        assert_eq!(header("public, Max-Age=600, must-revalidate"), Some(600));
        assert_eq!((header("no-store"), header("max-age=soon")), (None, None));
    }
}
