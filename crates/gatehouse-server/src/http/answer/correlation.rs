//! The correlation ID: the client's or a new one, in every response and log line.

use gatehouse_core::Timestamp;
use gatehouse_core::ids::time_ordered;
use gatehouse_vault::random;
use http::{HeaderMap, HeaderName, HeaderValue};

pub(crate) const X_CORRELATION_ID: HeaderName = HeaderName::from_static("x-correlation-id");
const X_CORRELATOR: HeaderName = HeaderName::from_static("x-correlator");

/// Longest ID that is accepted from a client.
const CHARS_MAX: usize = 128;

#[derive(Clone)]
pub(crate) struct Correlation {
    pub(crate) id: String,
    /// Whether the client sent `X-Correlator`, which the response then repeats too.
    by_correlator: bool,
}

impl Correlation {
    pub(crate) fn of(headers: &HeaderMap, now: Timestamp) -> Self {
        let by_correlator =
            !headers.contains_key(X_CORRELATION_ID) && headers.contains_key(X_CORRELATOR);
        let name = if by_correlator { X_CORRELATOR } else { X_CORRELATION_ID };
        let given = match headers.get_all(name).iter().collect::<Vec<_>>()[..] {
            [one] => one.to_str().ok().filter(|id| is_acceptable(id)),
            _ => None,
        };
        let id = given
            .map(str::to_owned)
            .unwrap_or_else(|| time_ordered(now.unix_milliseconds(), &random::bytes()).to_string());
        Self { id, by_correlator }
    }

    pub(crate) fn put(&self, headers: &mut HeaderMap) {
        let value = HeaderValue::from_str(&self.id).expect("visible ASCII is a header's value");
        if self.by_correlator {
            headers.insert(X_CORRELATOR, value.clone());
        }
        headers.insert(X_CORRELATION_ID, value);
    }
}

fn is_acceptable(id: &str) -> bool {
    (1..=CHARS_MAX).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic())
}
