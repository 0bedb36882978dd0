//! How much may be asked for, and how long it may take to ask.

use gatehouse_core::page::PAGE_SIZE_MAX;
use gatehouse_core::tenant::REQUESTS_PER_SECOND_MAX;
use serde::{Deserialize, Serialize};

use super::Duration;

/// Most bytes that any body can be allowed.
pub const BODY_BYTES_MAX: u64 = 1 << 30;

/// Most accesses that any batch can be allowed.
const BATCH_ITEMS_MAX: u64 = 1_000_000;

/// Most connections, or requests at a time, that can be allowed.
const CONNECTIONS_MAX: u64 = 1_000_000;

/// How long anyone can be waited for.
const PATIENCE: std::ops::RangeInclusive<Duration> =
    Duration::milliseconds(10)..=Duration::hours(1);

/// Wrong guesses that are free, where nothing else is set.
pub const FAILED_CHECKS: u32 = 10;

/// Most of them that can be set.
const FAILED_CHECKS_MAX: u64 = 10_000;

/// How much may be asked for.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Most things on a page of a list, 1 to 1000.
    pub page_size_max: u64,
    /// Requests that a tenant may send in a second; 0 for any number.
    pub requests_per_second: u64,
    /// How many wrong guesses of an access's chosen password, or of a client's secret, are free before they must wait; 0
    /// for any number.
    pub failed_checks: u32,
    /// Most accesses in a batch, 1 to 1,000,000.
    pub batch_items: u64,
    /// Most bytes in a request's body; a single object has at most 1 MiB of them.
    pub body_bytes: u64,
    /// Most connections at a time.
    pub connections: u64,
    /// Most requests that are worked on at a time.
    pub concurrent_requests: u64,
    /// How long the head of a request may take to arrive, from its first byte.
    pub header_timeout: Duration,
    /// How long the body of a request may take to arrive.
    pub body_timeout: Duration,
    /// How long a connection without a request is kept.
    pub idle_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            page_size_max: PAGE_SIZE_MAX,
            requests_per_second: 0,
            failed_checks: FAILED_CHECKS,
            batch_items: 100_000,
            body_bytes: 32 << 20,
            connections: 10_000,
            concurrent_requests: 1024,
            header_timeout: Duration::seconds(10),
            body_timeout: Duration::seconds(30),
            idle_timeout: Duration::seconds(60),
        }
    }
}

impl Limits {
    pub(super) fn check(&self) -> Result<(), String> {
        let counts = [
            ("page_size_max", self.page_size_max, 1, PAGE_SIZE_MAX),
            ("requests_per_second", self.requests_per_second, 0, REQUESTS_PER_SECOND_MAX),
            ("failed_checks", self.failed_checks.into(), 0, FAILED_CHECKS_MAX),
            ("batch_items", self.batch_items, 1, BATCH_ITEMS_MAX),
            ("body_bytes", self.body_bytes, 1024, BODY_BYTES_MAX),
            ("connections", self.connections, 1, CONNECTIONS_MAX),
            ("concurrent_requests", self.concurrent_requests, 1, CONNECTIONS_MAX),
        ];
        for (name, count, least, most) in counts {
            if !(least..=most).contains(&count) {
                return Err(format!("limits.{name} must be {least} to {most}"));
            }
        }
        let times = [
            ("header_timeout", self.header_timeout),
            ("body_timeout", self.body_timeout),
            ("idle_timeout", self.idle_timeout),
        ];
        let (shortest, longest) = (PATIENCE.start(), PATIENCE.end());
        for (name, time) in times {
            if !(shortest.get()..=longest.get()).contains(&time.get()) {
                return Err(format!("limits.{name} must be {shortest} to {longest}, not {time}"));
            }
        }
        Ok(())
    }
}
