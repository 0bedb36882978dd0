//! Headers of a tenant's rate limit.
//!
//! `RateLimit` and `RateLimit-Policy` follow the IETF's current draft; `RateLimit-Limit`, `-Remaining` and `-Reset`
//! follow its earlier versions, which most clients read today. The policy is the tenant's whole limit; the remaining
//! requests are those that this server still accepts.

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use super::problem::Problem;
use crate::rate::RateLimitResult;

const WINDOW_SECONDS: u64 = 1;

impl RateLimitResult {
    pub(crate) fn put(self, headers: &mut HeaderMap) {
        let (Self { limit, remaining, .. }, seconds) = (self, self.seconds());
        for (name, value) in [
            ("ratelimit", format!("\"tenant\";r={remaining};t={seconds}")),
            ("ratelimit-policy", format!("\"tenant\";q={limit};w={WINDOW_SECONDS}")),
            ("ratelimit-limit", limit.to_string()),
            ("ratelimit-remaining", remaining.to_string()),
            ("ratelimit-reset", seconds.to_string()),
        ] {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
    }

    /// Refuses a request over the limit.
    pub(crate) fn check(self) -> Result<(), Problem> {
        if self.is_allowed {
            return Ok(());
        }
        let (limit, seconds) = (self.limit, self.seconds());
        let share = match self.share.of() {
            1 => String::new(),
            of => format!(" (one of {of} shares of them over this server)"),
        };
        let detail = format!(
            "the tenant may send {limit} requests a second{share}, and has sent more; try again in {seconds} s"
        );
        Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "Too many requests", detail)
            .with(header::RETRY_AFTER, &seconds.to_string()))
    }
}
