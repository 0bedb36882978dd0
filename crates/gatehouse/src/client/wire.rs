//! Below every request: the HTTP client, the retry rules, and `--verbose`.

mod verbose;

pub(crate) use verbose::Verbose;

use std::time::Duration;

use gatehouse_connectors::{NO_AUTHORITIES, build_client, has_authorities};
use reqwest::Response;
use reqwest::header::RETRY_AFTER;

use crate::failure::Failure;

/// Timeout of connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout of reading: a request may be long, but not silent.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(60);

/// Retries on a busy server.
pub(crate) const BUSY_MAX: u32 = 3;

/// Longest `Retry-After` that is waited for.
const BUSY_WAIT_MAX: Duration = Duration::from_secs(10);

pub(crate) fn http_client() -> Result<reqwest::Client, Failure> {
    let client = build_client(|builder| {
        builder
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(SILENCE_TIMEOUT)
            // A redirect's target must not get the token.
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("gatehouse/", env!("CARGO_PKG_VERSION")))
    });
    client.map_err(|cause| Failure::from(format!("no HTTP client: {cause}")))
}

/// The response's `Retry-After`, if it is short enough to wait for.
pub(crate) fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    let wait = Duration::from_secs(seconds);
    (wait <= BUSY_WAIT_MAX).then_some(wait)
}

/// The cause of an HTTP error, whose own text names only the address.
pub(crate) fn root_cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".to_owned();
    }
    let mut why: &dyn std::error::Error = error;
    while let Some(source) = why.source() {
        why = source;
    }
    let why = why.to_string();
    if why.contains("certificate") && !has_authorities() {
        return format!("{why}; {NO_AUTHORITIES}");
    }
    why
}
