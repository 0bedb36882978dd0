//! Settings of limits on requests.

use gatehouse_core::page::PAGE_SIZE_MAX;
use gatehouse_core::tenant::REQUESTS_PER_SECOND_MAX;
use serde::{Deserialize, Serialize};

use super::Duration;

/// Largest configurable body size in bytes.
pub const BODY_BYTES_MAX: u64 = 1 << 30;

/// Largest configurable batch.
const BATCH_ITEMS_MAX: u64 = 1_000_000;

/// Largest configurable number of connections or concurrent requests.
const CONNECTIONS_MAX: u64 = 1_000_000;

/// Range of timeouts.
const TIMEOUTS: std::ops::RangeInclusive<Duration> =
    Duration::milliseconds(10)..=Duration::hours(1);

/// Default number of free failed checks.
pub const FAILED_CHECKS: u32 = 10;

/// Largest configurable number of free failed checks.
const FAILED_CHECKS_MAX: u64 = 10_000;

/// Limits on requests.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Largest page size, 1 to 1000.
    pub page_size_max: u64,
    /// Requests per second and tenant; 0 for no limit.
    pub requests_per_second: u64,
    /// Free failed checks of an access's chosen password or a client's secret; further ones must wait. 0 for no limit.
    pub failed_checks: u32,
    /// Largest batch, 1 to 1,000,000.
    pub batch_items: u64,
    /// Largest request body in bytes; bodies of single objects are limited to 1 MiB.
    pub body_bytes: u64,
    /// Most open connections.
    pub connections: u64,
    /// Most concurrent requests.
    pub concurrent_requests: u64,
    /// Time limit of a request's head, from its first byte.
    pub header_timeout: Duration,
    /// Time limit of a request's body.
    pub body_timeout: Duration,
    /// Time after which an idle connection is closed.
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
        let (shortest, longest) = (TIMEOUTS.start(), TIMEOUTS.end());
        for (name, time) in times {
            if !(shortest.get()..=longest.get()).contains(&time.get()) {
                return Err(format!("limits.{name} must be {shortest} to {longest}, not {time}"));
            }
        }
        Ok(())
    }
}
