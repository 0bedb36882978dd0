//! Responses of platforms.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use gatehouse_fair_semaphore::Permit;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;

use super::DETAIL_BYTES_MAX;
use super::document::Document;
use super::pause::retry_after;
use super::secrets::Secrets;
use crate::failure::{Failure, FailureKind, SHOWN_BYTES_MAX, UnexpectedResponse};

/// A platform's response, of any status.
#[derive(Clone)]
pub struct PlatformResponse {
    /// Status.
    pub status: StatusCode,
    /// Headers.
    pub headers: HeaderMap,
    /// Whole body.
    pub body: Bytes,
    /// Pause that the platform's own rate-limit headers ask for.
    pub(in crate::client) reset_after: Option<Duration>,
    /// Whether failures may include the raw text.
    pub(in crate::client) includes_text: bool,
    /// The body as a document, parsed on first use.
    pub(in crate::client) document: OnceLock<Document>,
    /// Secrets to hide in texts about the response.
    pub(in crate::client) secrets: Secrets,
    pub(in crate::client) _permit: Option<Arc<Permit>>,
}

impl PlatformResponse {
    /// The failure for an unexpected response. The detail may repeat parts of the response.
    pub fn failure(&self, detail: impl AsRef<str>) -> Failure {
        let is_throttled = self.status == StatusCode::TOO_MANY_REQUESTS;
        let kind = if is_throttled { FailureKind::Throttled } else { FailureKind::Error };
        self.clean_failure(kind, detail.as_ref()).with_retry_after(self.retry_after())
    }

    /// The failure with the platform's own error code and message.
    pub(crate) fn failure_that_says(
        &self,
        detail: impl AsRef<str>,
        code: Option<&str>,
        message: Option<&str>,
    ) -> Failure {
        let mut failure = self.failure(detail);
        if let Some(shown) = &mut failure.response {
            let clean = |it: &str| self.secrets.clean(it.as_bytes(), DETAIL_BYTES_MAX);
            shown.code = code.map(clean);
            shown.message = message.map(clean);
        }
        failure
    }

    /// Parses the body as JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        self.read().map_err(|error| {
            let status = self.status.as_u16();
            let what = if let Some(content_encoding) = self.content_encoding() {
                format!("a body compressed with `{content_encoding}`, which was not requested")
            } else if self.body.is_empty() {
                "an empty body, where JSON was expected".to_owned()
            } else if self.is_page() {
                "a web page, where JSON was expected".to_owned()
            } else if error.is_data() {
                // The parser's message names our own types.
                format!("JSON of another shape than expected{}", position(&error))
            } else {
                format!("what is not JSON{}", position(&error))
            };
            self.error(format!("the platform answered {status} with {what}"))
        })
    }

    /// The body as a document; null if it isn't JSON.
    pub(crate) fn document(&self) -> &Document {
        self.document.get_or_init(|| self.read().unwrap_or_default())
    }

    fn read<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        // Validates UTF-8 once for the whole body, not string by string.
        match std::str::from_utf8(&self.body) {
            Ok(body) => serde_json::from_str(body),
            Err(_) => serde_json::from_slice(&self.body),
        }
    }

    /// Pause that the platform asks for.
    pub fn retry_after(&self) -> Option<Duration> {
        retry_after(&self.headers).or(self.reset_after)
    }

    /// A failure of kind [`FailureKind::Error`]; the message may repeat parts of the response.
    pub(in crate::client) fn error(&self, message: String) -> Failure {
        self.clean_failure(FailureKind::Error, &message)
    }

    fn clean_failure(&self, kind: FailureKind, message: &str) -> Failure {
        let message = self.secrets.clean(message.as_bytes(), DETAIL_BYTES_MAX);
        Failure::new(kind, message).with_response(self.shown())
    }

    /// The response without secrets. The body of a successful response is full of connections, which must not be shown,
    /// so it is left out.
    fn shown(&self) -> UnexpectedResponse {
        let is_shown = self.includes_text && (!self.status.is_success() || self.is_page());
        let body = if is_shown { &self.body[..] } else { &[] };
        let body = self.secrets.clean(body, SHOWN_BYTES_MAX);
        UnexpectedResponse { status: self.status.as_u16(), code: None, message: None, body }
    }

    /// Whether the response is a web page: a log-in form, a gateway's error.
    pub(crate) fn is_page(&self) -> bool {
        let content_type = self.headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        content_type.is_some_and(|it| it.trim_start().to_ascii_lowercase().starts_with("text/html"))
            || self.body.trim_ascii_start().starts_with(b"<")
    }

    /// Content encoding of the body, if any.
    fn content_encoding(&self) -> Option<&str> {
        let content_encoding = self.headers.get(CONTENT_ENCODING)?.to_str().ok()?;
        (!content_encoding.eq_ignore_ascii_case("identity")).then_some(content_encoding)
    }
}

/// Position of a syntax error in the body.
fn position(error: &serde_json::Error) -> String {
    format!(", at line {}, column {}", error.line(), error.column())
}

impl fmt::Debug for PlatformResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Headers and body may hold secrets.
        let n_bytes = self.body.len();
        f.debug_struct("PlatformResponse")
            .field("status", &self.status)
            .field("n_bytes", &n_bytes)
            .finish_non_exhaustive()
    }
}
