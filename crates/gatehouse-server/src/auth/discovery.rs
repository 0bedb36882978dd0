//! Asking an issuer for its keys: its document, and the set of keys that it names. The document also says where
//! people sign in.
//!
//! What it answers is bounded in size and time, redirects are not followed, and nothing of whoever
//! happens to ask is sent along: the keys are everyone's.

use std::time::{Duration, UNIX_EPOCH};

use gatehouse_connectors::build_client;
use gatehouse_core::Timestamp;
use gatehouse_vault::KeySet;
use reqwest::{Client, Url};
use serde_json::Value;

use super::sign_in::Described;
use crate::config::IssuerUrl;
use crate::config::safe_url::is_safe;

/// How long an issuer may take for all that is asked of it.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);

/// Most bytes of an answer.
const FETCHED_BYTES_MAX: usize = 1 << 20;

/// How long keys are used before they are fetched again: as the issuer says, within these bounds.
pub(super) const FRESH_DEFAULT: Duration = Duration::from_secs(15 * 60);
const FRESH_MIN: Duration = Duration::from_secs(60);
const FRESH_MAX: Duration = Duration::from_secs(60 * 60);

/// Where an issuer is asked, and how.
pub(super) struct Discovery {
    issuer: String,
    /// Whether it is on this machine, where nobody stands between.
    is_plain: bool,
    client: Client,
}

/// Why an issuer's keys can't be had. It says what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadIssuer(String);

/// Keys, and how long they may be used before the next look.
pub(super) struct Fetched {
    pub(super) keys: KeySet,
    pub(super) described: Described,
    pub(super) fresh: Duration,
    pub(super) time: Option<Timestamp>,
}

/// What an issuer has answered.
struct Answer {
    body: Vec<u8>,
    max_age: Option<Duration>,
    time: Option<Timestamp>,
}

impl Discovery {
    pub(super) fn of(issuer: &IssuerUrl) -> Result<Self, BadIssuer> {
        let issuer = issuer.as_str().to_owned();
        let is_plain = Url::parse(&issuer).is_ok_and(|url| url.scheme() == "http");
        let client = build_client(|builder| {
            let builder = builder
                .timeout(FETCH_TIMEOUT)
                .user_agent(concat!("gatehouse/", env!("CARGO_PKG_VERSION")))
                // The issuer's own document names the address of its keys; a redirect must not.
                .redirect(reqwest::redirect::Policy::none());
            // What is on this machine is asked without a detour, where others could answer.
            if is_plain { builder.no_proxy() } else { builder }
        });
        let client =
            client.map_err(|cause| BadIssuer(format!("no HTTP client: {}", root(&cause))))?;
        Ok(Self { issuer, is_plain, client })
    }

    /// Asks for the keys, all in all no longer than an issuer may take.
    pub(super) async fn ask(&self) -> Result<Fetched, BadIssuer> {
        tokio::time::timeout(FETCH_TIMEOUT, self.follow()).await.unwrap_or_else(|_| {
            let (issuer, seconds) = (&self.issuer, FETCH_TIMEOUT.as_secs());
            Err(BadIssuer(format!("{issuer} took longer than {seconds} s: is it up?")))
        })
    }

    async fn follow(&self) -> Result<Fetched, BadIssuer> {
        let issuer = &self.issuer;
        let url = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let described = self.get(&url).await?.body;
        let described: Value = serde_json::from_slice(&described)
            .map_err(|_| BadIssuer(format!("{url} has no JSON")))?;
        let text = |name: &str| described.get(name).and_then(Value::as_str);
        if text("issuer") != Some(issuer.as_str()) {
            let called = text("issuer").unwrap_or("nothing");
            return Err(BadIssuer(format!(
                "{url} is the document of `{called}`: write that into auth.issuers, letter by letter, \
                 if it is the right one"
            )));
        }
        let place = text("jwks_uri").unwrap_or_default();
        if !Url::parse(place).is_ok_and(|url| self.is_as_safe(&url)) {
            return Err(BadIssuer(format!(
                "{url} says that the keys are at `{place}` (jwks_uri), which is no https address"
            )));
        }
        let answer = self.get(place).await?;
        let keys =
            KeySet::parse(&answer.body).map_err(|bad| BadIssuer(format!("{place}: {bad}")))?;
        let fresh = answer.max_age.unwrap_or(FRESH_DEFAULT).clamp(FRESH_MIN, FRESH_MAX);
        let described = Described::read(&described, |url| self.is_as_safe(url));
        Ok(Fetched { keys, described, fresh, time: answer.time })
    }

    /// Whether an address that the document names is as safe as the issuer: who is asked by https is not left
    /// for less.
    fn is_as_safe(&self, url: &Url) -> bool {
        is_safe(url) && (self.is_plain || url.scheme() == "https")
    }

    async fn get(&self, url: &str) -> Result<Answer, BadIssuer> {
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
        Ok(Answer { body, max_age, time })
    }
}

pub(super) fn max_age(headers: &http::HeaderMap) -> Option<Duration> {
    let value = headers.get(http::header::CACHE_CONTROL)?.to_str().ok()?;
    let value = value.to_ascii_lowercase();
    let seconds = value.split(',').find_map(|it| it.trim().strip_prefix("max-age="))?;
    seconds.parse().ok().map(Duration::from_secs)
}

/// What time it is where the answer comes from.
pub(super) fn time(headers: &http::HeaderMap) -> Option<Timestamp> {
    let value = headers.get(http::header::DATE)?.to_str().ok()?;
    let since = httpdate::parse_http_date(value).ok()?.duration_since(UNIX_EPOCH).ok()?;
    Timestamp::from_millisecond(i64::try_from(since.as_millis()).ok()?).ok()
}

/// What is behind an error that says little by itself.
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
    fn keys_are_kept_as_long_as_the_issuer_says() {
        let header = |value: &str| {
            let mut headers = http::HeaderMap::new();
            headers.insert("cache-control", value.parse().unwrap());
            max_age(&headers).map(|it| it.as_secs())
        };
        assert_eq!(header("public, Max-Age=600, must-revalidate"), Some(600));
        assert_eq!((header("no-store"), header("max-age=soon")), (None, None));
    }
}
