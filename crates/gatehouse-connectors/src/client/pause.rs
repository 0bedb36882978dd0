//! Pauses before retries: random, or as the platform asks.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use http::header::{DATE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, StatusCode};

use crate::clock::machine_time;
use crate::connector::{ResetUnit, WaitRule};

/// Longest pause before the first retry; doubles with each further one.
pub(in crate::client) const PAUSE_FIRST: Duration = Duration::from_millis(100);

/// Random pauses, so that callers that failed together don't retry together.
///
/// Predictable pauses do no harm, so this needs no cryptography: SplitMix64 with another seed for each client.
#[derive(Debug)]
pub(in crate::client) struct Jitter(AtomicU64);

impl Jitter {
    pub(in crate::client) fn from_seed(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// Pauses from a random seed: the one of the standard library's hash tables.
    pub(in crate::client) fn new() -> Self {
        Self::from_seed(RandomState::new().hash_one(0))
    }

    /// A random pause before a retry (the first is 0).
    pub(in crate::client) fn pause(&self, retry: u32) -> Duration {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut bits = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        // 53 bits are a fraction below 1 that a float holds exactly.
        let fraction = (bits >> 11) as f64 / (1u64 << 53) as f64;
        PAUSE_FIRST.saturating_mul(2u32.saturating_pow(retry)).mul_f64(fraction)
    }
}

/// Pause that a `Retry-After` header asks for, in seconds or until a date.
///
/// A date is compared with the response's own `Date`, since clocks differ; with this machine's clock if there is none.
pub(in crate::client) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit()) {
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let until = httpdate::parse_http_date(text).ok()?;
    Some(until.duration_since(now(headers)).unwrap_or_default())
}

/// Pause that a platform's rate-limit headers ask for: no call is left, or this call was one too many.
pub(in crate::client) fn reset_after(
    status: StatusCode,
    headers: &HeaderMap,
    wait: &WaitRule,
) -> Option<Duration> {
    let remaining = || number(headers, wait.remaining.as_ref()?);
    let is_spent = || remaining().is_some_and(|it| it <= 0.0);
    if status != StatusCode::TOO_MANY_REQUESTS && !is_spent() {
        return None;
    }
    let seconds = number(headers, &wait.reset).filter(|it| *it >= 0.0)?;
    // Longer than a duration holds means the longest duration.
    let time = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    Some(match wait.unit {
        ResetUnit::Seconds => time,
        ResetUnit::Epoch => {
            let now = now(headers).duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            time.saturating_sub(now)
        }
    })
}

/// Value of a header that is a decimal number.
fn number(headers: &HeaderMap, name: &HeaderName) -> Option<f64> {
    let text = headers.get(name)?.to_str().ok()?.trim();
    // The float parser also accepts `nan` and `inf`.
    let is_plain = text.bytes().all(|it| it.is_ascii_digit() || matches!(it, b'-' | b'.'));
    is_plain.then(|| text.parse().ok()).flatten()
}

/// The platform's time when it responded.
fn now(headers: &HeaderMap) -> SystemTime {
    let date = headers.get(DATE).and_then(|it| it.to_str().ok());
    date.and_then(|it| httpdate::parse_http_date(it).ok()).unwrap_or_else(machine_time)
}

#[cfg(test)]
mod tests;
