//! How a simulated platform behaves: slowly, wrongly or not at all. It can be changed while it runs.

use std::time::Duration;

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::draw::draw;

/// Longest that an answer may be held back, and longest that may be added by chance.
pub const LATENCY_MS_MAX: u32 = 600_000;

/// Most requests in a second that can be asked for; more is no throttle.
const THROTTLE_PER_SECOND_MAX: u32 = 1_000_000;

/// Longest that clients may be told to stay away.
const RETRY_AFTER_SECONDS_MAX: u32 = 86_400;

/// How a simulated platform behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// How long every answer is held back, in milliseconds.
    pub latency_ms: u32,
    /// How much longer it may be by chance, in milliseconds.
    pub latency_jitter_ms: u32,
    /// How many of a hundred requests fail.
    pub error_percent: u8,
    /// How they fail.
    pub error_status: StatusCode,
    /// How many requests are answered in a second, the others with 429; any number at zero.
    pub throttle_per_second: u32,
    /// How long whoever gets 429 is told to stay away, in seconds.
    pub retry_after_seconds: u32,
    /// What is wrong with its answers.
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

/// What may be wrong with a platform's answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misbehaviour {
    /// Nothing.
    None,
    /// None ever comes.
    Hang,
    /// The connection is closed instead.
    Reset,
    /// They come a byte at a time.
    Trickle,
    /// They are pages for people, with status 200.
    Html,
    /// They break off in the middle of their JSON.
    InvalidJson,
    /// They are hundreds of megabytes long.
    Huge,
    /// They have the right names and the wrong types.
    WrongTypes,
    /// They have one connection twice, in another's place.
    Duplicates,
    /// They hold more connections than were asked for.
    TooMany,
    /// There is always a page behind the last one.
    EndlessCursor,
    /// They lead to another host.
    Redirect,
    /// No token is good.
    Unauthorized,
    /// Every request is one too many.
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

    /// The kind as a profile names it.
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
    /// How long the answer to a request is held back. Requests are counted, so that runs repeat.
    pub(super) fn latency(&self, origin: u64, n_request: u64) -> Duration {
        let more = draw(origin ^ 0x1a7e, n_request) % (u64::from(self.latency_jitter_ms) + 1);
        Duration::from_millis(u64::from(self.latency_ms) + more)
    }

    /// Whether a request is one of those that fail.
    pub(super) fn fails(&self, origin: u64, n_request: u64) -> bool {
        draw(origin ^ 0xfa11, n_request) % 100 < u64::from(self.error_percent)
    }

    /// The profile as it is written on the wire.
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

    /// This profile with the fields that a body names; or all that is wrong with them.
    pub(super) fn changed(mut self, body: &[u8]) -> Result<Self, Vec<String>> {
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
