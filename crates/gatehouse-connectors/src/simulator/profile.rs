//! Latency and faults of a simulated platform, which can be changed while it runs.

use std::time::Duration;

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::pseudo_random::pseudo_random;

/// Longest latency, and longest jitter.
pub const LATENCY_MS_MAX: u32 = 600_000;

/// Highest rate limit; a higher one would limit nothing.
const THROTTLE_PER_SECOND_MAX: u32 = 1_000_000;

/// Longest `Retry-After`.
const RETRY_AFTER_SECONDS_MAX: u32 = 86_400;

/// Latency and faults of a simulated platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Latency of every response, in milliseconds.
    pub latency_ms: u32,
    /// Largest random addition to the latency, in milliseconds.
    pub latency_jitter_ms: u32,
    /// Percentage of requests that fail.
    pub error_percent: u8,
    /// Status of the requests that fail.
    pub error_status: StatusCode,
    /// Rate limit in requests per second; requests beyond it get 429. Zero is no limit.
    pub throttle_per_second: u32,
    /// `Retry-After` of every 429 of the rate limit and of the fault `throttled`, in seconds.
    pub retry_after_seconds: u32,
    /// Fault of the responses.
    pub fault: Misbehaviour,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            latency_ms: 0,
            latency_jitter_ms: 0,
            error_percent: 0,
            error_status: StatusCode::SERVICE_UNAVAILABLE,
            throttle_per_second: 0,
            retry_after_seconds: 1,
            fault: Misbehaviour::None,
        }
    }
}

/// Faults of a platform's responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misbehaviour {
    /// No fault.
    None,
    /// No response ever comes.
    Hang,
    /// The connection is closed without a response.
    Reset,
    /// Bodies are sent a byte at a time.
    Trickle,
    /// Responses are web pages, with status 200.
    Html,
    /// Bodies break off in the middle of the JSON.
    InvalidJson,
    /// Bodies are hundreds of megabytes long.
    Huge,
    /// Fields have the right names and wrong types.
    WrongTypes,
    /// The last connection of a page is the first one again.
    Duplicates,
    /// Pages and look-ups have more connections than requested.
    TooMany,
    /// Every page has a next one.
    EndlessCursor,
    /// Responses redirect to another host.
    Redirect,
    /// No token is accepted.
    Unauthorized,
    /// Every request exceeds the rate limit.
    Throttled,
}

impl Misbehaviour {
    /// Every kind.
    pub const ALL: [Self; 14] = [
        Self::None,
        Self::Hang,
        Self::Reset,
        Self::Trickle,
        Self::Html,
        Self::InvalidJson,
        Self::Huge,
        Self::WrongTypes,
        Self::Duplicates,
        Self::TooMany,
        Self::EndlessCursor,
        Self::Redirect,
        Self::Unauthorized,
        Self::Throttled,
    ];

    /// Name of the fault in a profile.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Hang => "hang",
            Self::Reset => "reset",
            Self::Trickle => "trickle",
            Self::Html => "html",
            Self::InvalidJson => "invalidJson",
            Self::Huge => "huge",
            Self::WrongTypes => "wrongTypes",
            Self::Duplicates => "duplicates",
            Self::TooMany => "tooMany",
            Self::EndlessCursor => "endlessCursor",
            Self::Redirect => "redirect",
            Self::Unauthorized => "unauthorized",
            Self::Throttled => "throttled",
        }
    }
}

impl Profile {
    /// Latency of a request. Depends on the request's number, so that runs can be repeated.
    pub(super) fn latency(&self, seed: u64, n_request: u64) -> Duration {
        let jitter =
            pseudo_random(seed ^ 0x1a7e, n_request) % (u64::from(self.latency_jitter_ms) + 1);
        Duration::from_millis(u64::from(self.latency_ms) + jitter)
    }

    /// Whether a request fails.
    pub(super) fn fails(&self, seed: u64, n_request: u64) -> bool {
        pseudo_random(seed ^ 0xfa11, n_request) % 100 < u64::from(self.error_percent)
    }

    /// The profile as JSON.
    pub(super) fn to_json(self) -> Value {
        json!({
            "latencyMs": self.latency_ms,
            "latencyJitterMs": self.latency_jitter_ms,
            "errorPercent": self.error_percent,
            "errorStatus": self.error_status.as_u16(),
            "throttlePerSecond": self.throttle_per_second,
            "retryAfterSeconds": self.retry_after_seconds,
            "fault": self.fault.as_str(),
        })
    }

    /// Replaces the fields that a body names; reports every fault at once.
    pub(super) fn with_changes(mut self, body: &[u8]) -> Result<Self, Vec<String>> {
        let fields: Map<String, Value> = serde_json::from_slice(body)
            .map_err(|why| vec![format!("the body must be an object of JSON: {why}")])?;
        let mut faults = Vec::new();
        for (name, value) in &fields {
            let set = match name.as_str() {
                "latencyMs" => number(value, 0, LATENCY_MS_MAX).map(|it| self.latency_ms = it),
                "latencyJitterMs" => {
                    number(value, 0, LATENCY_MS_MAX).map(|it| self.latency_jitter_ms = it)
                }
                "errorPercent" => number(value, 0, 100).map(|it| self.error_percent = it),
                "errorStatus" => error_status(value).map(|it| self.error_status = it),
                "throttlePerSecond" => number(value, 0, THROTTLE_PER_SECOND_MAX)
                    .map(|it| self.throttle_per_second = it),
                "retryAfterSeconds" => number(value, 0, RETRY_AFTER_SECONDS_MAX)
                    .map(|it| self.retry_after_seconds = it),
                "fault" => misbehaviour(value).map(|it| self.fault = it),
                _ => Err("is not a field of a profile; it may have latencyMs, latencyJitterMs, \
                          errorPercent, errorStatus, throttlePerSecond, retryAfterSeconds, fault"
                    .to_owned()),
            };
            if let Err(reason) = set {
                faults.push(format!("{name} {reason}"));
            }
        }
        if faults.is_empty() { Ok(self) } else { Err(faults) }
    }
}

fn number<T: TryFrom<u64>>(value: &Value, min: u32, max: u32) -> Result<T, String> {
    let bounds = u64::from(min)..=u64::from(max);
    let number = value.as_u64().filter(|number| bounds.contains(number));
    let number = number.and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| format!("must be a whole number, {min} to {max}, not {value}"))
}

fn error_status(value: &Value) -> Result<StatusCode, String> {
    let status: u16 = number(value, 400, 599)?;
    StatusCode::from_u16(status).map_err(|_| format!("must be a status, not {value}"))
}

fn misbehaviour(value: &Value) -> Result<Misbehaviour, String> {
    let known = Misbehaviour::ALL.into_iter().find(|it| value.as_str() == Some(it.as_str()));
    known.ok_or_else(|| {
        let names = Misbehaviour::ALL.map(Misbehaviour::as_str).join(", ");
        format!("must be one of {names}, not {value}")
    })
}

#[cfg(test)]
mod tests;
