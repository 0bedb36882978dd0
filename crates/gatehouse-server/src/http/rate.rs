//! What a tenant's requests have left, in headers.
//!
//! `RateLimit` and `RateLimit-Policy` are those of the IETF's draft as it is now; `RateLimit-Limit`,
//! `-Remaining` and `-Reset` are those of its earlier versions, which most clients read today.

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use super::problem::Problem;
use crate::rate::Allowance;

/// Seconds after which a bucket that nobody draws from is full, or has one more for whom it was empty.
const SECONDS: u64 = 1;

impl Allowance {
    /// Writes down what is left.
    pub(crate) fn put(self, headers: &mut HeaderMap) {
        let Self { limit, left, .. } = self;
        for (name, value) in [
            ("ratelimit", format!("\"tenant\";r={left};t={SECONDS}")),
            ("ratelimit-policy", format!("\"tenant\";q={limit};w={SECONDS}")),
            ("ratelimit-limit", limit.to_string()),
            ("ratelimit-remaining", left.to_string()),
            ("ratelimit-reset", SECONDS.to_string()),
        ] {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
    }

    /// Turns away whom the limit leaves nothing.
    pub(crate) fn check(self) -> Result<(), Problem> {
        if self.is_allowed {
            return Ok(());
        }
        let detail = format!(
            "the tenant may send {} requests a second, and has sent more; try again in {SECONDS} s",
            self.limit
        );
        Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "Too many requests", detail)
            .with(header::RETRY_AFTER, &SECONDS.to_string()))
    }
}
