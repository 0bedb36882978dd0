//! What lies beneath every request: the HTTP client, when to ask again, and what is seen of it.

mod talk;

pub(crate) use talk::Talk;

use std::pin::Pin;
use std::time::Duration;

use gatehouse_connectors::{NO_AUTHORITIES, build_client, has_authorities};
use reqwest::Response;
use reqwest::header::RETRY_AFTER;

use crate::failure::Failure;

/// How long a connection may take to come about.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a server may be silent: a request may be long, but not dead.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(60);

/// How often a busy server is asked again.
pub(crate) const BUSY_MAX: u32 = 3;

/// Longest that a busy server is waited for before it is asked again.
const BUSY_WAIT_MAX: Duration = Duration::from_secs(10);

/// A client with bounds on how long it waits.
pub(crate) fn http_client() -> Result<reqwest::Client, Failure> {
    let client = build_client(|builder| {
        builder
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(SILENCE_TIMEOUT)
            // A token is not for wherever an answer leads.
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("gatehouse/", env!("CARGO_PKG_VERSION")))
    });
    client.map_err(|cause| Failure::from(format!("no HTTP client: {cause}")))
}

/// Runs what asks servers.
pub(crate) fn run<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|cause| format!("no thread to run on: {cause}"))?;
    let mut outcome = None;
    // Erased, so that the runtime's loop is compiled once and not once for each command.
    let work: Pin<Box<dyn Future<Output = ()> + '_>> =
        Box::pin(async { outcome = Some(work.await) });
    runtime.block_on(work);
    // A thread may still wait for somebody to type an answer that is no longer needed.
    runtime.shutdown_background();
    outcome.expect("work that has ended has left its outcome")
}

/// How long a server wants to be left alone, if that is worth waiting for.
pub(crate) fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    let wait = Duration::from_secs(seconds);
    (wait <= BUSY_WAIT_MAX).then_some(wait)
}

/// What lies beneath an error of the HTTP library, whose own words name only the address.
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
