//! What a platform answered.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use gatehouse_fair_semaphore::Permit;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::DETAIL_BYTES_MAX;
use super::pause::retry_after;
use super::secrets::Secrets;
use crate::failure::{Failure, FailureKind, SAID_BYTES_MAX, UnexpectedResponse};

/// What a platform answered, with whatever status.
#[derive(Clone)]
pub struct PlatformResponse {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// All of its body.
    pub body: Bytes,
    /// How long the platform wants to be left alone, where it says so in a way of its own.
    pub(in crate::client) reset_after: Option<Duration>,
    /// Whether its text may be told as it is, not only what is found in it.
    pub(in crate::client) tells_text: bool,
    /// Its body as a document, once someone wanted it.
    pub(in crate::client) document: OnceLock<Value>,
    /// What must not be told of it.
    pub(in crate::client) secrets: Secrets,
    /// Where it is large, its place among the few that may be there.
    pub(in crate::client) _place: Option<Arc<Permit>>,
}

impl PlatformResponse {
    /// The failure that an answer is which was not expected, with what the platform said. The detail may
    /// repeat parts of the answer.
    pub fn failure(&self, detail: impl AsRef<str>) -> Failure {
        let is_throttled = self.status == StatusCode::TOO_MANY_REQUESTS;
        let kind = if is_throttled { FailureKind::Throttled } else { FailureKind::Error };
        self.told(kind, detail.as_ref()).with_retry_after(self.retry_after())
    }

    /// A failure with the platform's own error code and message.
    pub(crate) fn failure_that_says(
        &self,
        detail: impl AsRef<str>,
        code: Option<&str>,
        message: Option<&str>,
    ) -> Failure {
        let mut failure = self.failure(detail);
        if let Some(said) = &mut failure.said {
            let clean = |it: &str| self.secrets.clean(it.as_bytes(), DETAIL_BYTES_MAX);
            said.code = code.map(clean);
            said.message = message.map(clean);
        }
        failure
    }

    /// Its body as JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        // Looked at once as a whole, it need not be looked at text by text.
        let read = match std::str::from_utf8(&self.body) {
            Ok(body) => serde_json::from_str(body),
            Err(_) => serde_json::from_slice(&self.body),
        };
        read.map_err(|error| {
            let status = self.status.as_u16();
            let what = if let Some(packed) = self.packed() {
                format!("a body that is packed with `{packed}`, which was not asked for")
            } else if self.body.is_empty() {
                "an empty body, where JSON was expected".to_owned()
            } else if self.is_page() {
                "a web page, where JSON was expected".to_owned()
            } else if error.is_data() {
                // What the reader would say names our own types.
                format!("JSON of another shape than expected{}", place(&error))
            } else {
                format!("what is not JSON{}", place(&error))
            };
            self.error(format!("the platform answered {status} with {what}"))
        })
    }

    /// Its body as a document; null where it is none.
    pub(crate) fn document(&self) -> &Value {
        self.document.get_or_init(|| serde_json::from_slice(&self.body).unwrap_or_default())
    }

    /// How long the platform wants to be left alone, where it says so.
    pub fn retry_after(&self) -> Option<Duration> {
        retry_after(&self.headers).or(self.reset_after)
    }

    /// A failure of the kind that says nothing more; the words may repeat parts of the answer.
    pub(in crate::client) fn error(&self, words: String) -> Failure {
        self.told(FailureKind::Error, &words)
    }

    fn told(&self, kind: FailureKind, words: &str) -> Failure {
        let words = self.secrets.clean(words.as_bytes(), DETAIL_BYTES_MAX);
        Failure::new(kind, words).with_said(self.said())
    }

    /// What it says, cleaned. One that looks like what was asked for is full of connections, which nobody has
    /// looked through for what may be shown of them: its body is not told.
    fn said(&self) -> UnexpectedResponse {
        let is_told = self.tells_text && (!self.status.is_success() || self.is_page());
        let body = if is_told { &self.body[..] } else { &[] };
        let body = self.secrets.clean(body, SAID_BYTES_MAX);
        UnexpectedResponse { status: self.status.as_u16(), code: None, message: None, body }
    }

    /// Whether it is meant for a browser: a login, a gateway's error.
    pub(crate) fn is_page(&self) -> bool {
        let content_type = self.headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        content_type.is_some_and(|it| it.trim_start().to_ascii_lowercase().starts_with("text/html"))
            || self.body.trim_ascii_start().starts_with(b"<")
    }

    /// What it is packed with, where it is.
    fn packed(&self) -> Option<&str> {
        let packed = self.headers.get(CONTENT_ENCODING)?.to_str().ok()?;
        (!packed.eq_ignore_ascii_case("identity")).then_some(packed)
    }
}

/// Where in a body something is wrong.
fn place(error: &serde_json::Error) -> String {
    format!(", at line {}, column {}", error.line(), error.column())
}

impl fmt::Debug for PlatformResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Headers and body may hold secrets.
        let n_bytes = self.body.len();
        f.debug_struct("Answer")
            .field("status", &self.status)
            .field("n_bytes", &n_bytes)
            .finish_non_exhaustive()
    }
}
