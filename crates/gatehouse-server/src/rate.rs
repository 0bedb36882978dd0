//! Rate limits of tenants.
//!
//! Each tenant has a token bucket with one second's worth of requests, so short bursts pass and the average rate holds.
//! A request that finds it empty is refused at once. A tenant's own limit overrides the setting and is reloaded
//! periodically. Each server enforces its share of the limit on its own.

use std::collections::HashMap;
use std::time::Duration;

use gatehouse_core::rate::bucket::Bucket;
use gatehouse_core::{CurrentShare, ReplicaShare, TenantName};
use gatehouse_store::{Store, StoreError};
use parking_lot::Mutex;
use tokio::time::Instant;

/// How long a loaded limit is used.
const RELOAD_INTERVAL: Duration = Duration::from_secs(5);

/// Time in which an empty bucket fills.
const FILL_TIME: Duration = Duration::from_secs(1);

/// The buckets of all tenants.
pub(crate) struct RateLimiter {
    /// Limit of tenants without their own; 0 for none.
    default: u64,
    /// This server's share of each limit.
    share: CurrentShare,
    /// Bounded: only existing tenants are added.
    tenants: Mutex<HashMap<TenantName, TenantRate>>,
}

struct TenantRate {
    limit: u64,
    loaded_at: Instant,
    bucket: Bucket,
    /// When the bucket was last filled.
    filled_at: Instant,
}

/// Result of counting a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RateLimitResult {
    /// Allowed requests per second, over all servers.
    pub(crate) limit: u64,
    /// This server's share.
    pub(crate) share: ReplicaShare,
    /// Requests that this server still allows now.
    pub(crate) remaining: u64,
    /// Whether this request is allowed.
    pub(crate) is_allowed: bool,
}

impl RateLimiter {
    pub(crate) fn new(default: u64, share: CurrentShare) -> Self {
        Self { default, share, tenants: Mutex::default() }
    }

    /// Counts a tenant's request; `None` without a limit.
    pub(crate) async fn count(
        &self,
        store: &Store,
        tenant: &TenantName,
    ) -> Result<Option<RateLimitResult>, StoreError> {
        let (now, share) = (Instant::now(), self.share.get());
        if let Some(entry) = self.tenants.lock().get_mut(tenant)
            && now.duration_since(entry.loaded_at) < RELOAD_INTERVAL
        {
            return Ok(entry.take(share, now));
        }
        // Boxed, because it is rare.
        let Some(found) = Box::pin(store.tenant(tenant)).await? else { return Ok(None) };
        let limit = found.requests_per_second.unwrap_or(self.default);
        let mut tenants = self.tenants.lock();
        // Another server may have used this share within the fill time.
        let smallest = self.share.smallest_within(FILL_TIME, now.into_std());
        let entry =
            tenants.entry(tenant.clone()).or_insert_with(|| TenantRate::new(limit, smallest, now));
        entry.reload(limit, smallest, now);
        Ok(entry.take(share, now))
    }

    /// Reloads the tenant's limit at its next request.
    pub(crate) fn invalidate(&self, tenant: &TenantName) {
        self.tenants.lock().remove(tenant);
    }
}

impl RateLimitResult {
    /// Seconds until an unused bucket is full, or an empty one has a token: more than one with many servers.
    pub(crate) fn seconds(self) -> u64 {
        u64::from(self.share.of()).div_ceil(self.limit.max(1))
    }
}

impl TenantRate {
    fn new(limit: u64, share: ReplicaShare, now: Instant) -> Self {
        let bucket = Bucket::full(limit as f64, limit as f64, share);
        Self { limit, loaded_at: now, bucket, filled_at: now }
    }

    /// Takes a reloaded limit. The same limit keeps the bucket's level.
    fn reload(&mut self, limit: u64, share: ReplicaShare, now: Instant) {
        if limit != self.limit {
            *self = Self::new(limit, share, now);
        }
        self.loaded_at = now;
    }

    fn take(&mut self, share: ReplicaShare, now: Instant) -> Option<RateLimitResult> {
        let limit = self.limit;
        if limit == 0 {
            return None;
        }
        self.bucket.fill(share, now.saturating_duration_since(self.filled_at));
        self.filled_at = self.filled_at.max(now);
        let is_allowed = self.bucket.take().is_ok();
        Some(RateLimitResult { limit, share, remaining: self.bucket.left(), is_allowed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_the_average_rate_holds() {
        let start = Instant::now();
        let mut tenant = TenantRate::new(10, ReplicaShare::WHOLE, start);
        let mut at = |milliseconds| {
            let result = tenant
                .take(ReplicaShare::WHOLE, start + Duration::from_millis(milliseconds))
                .unwrap();
            (result.is_allowed, result.remaining)
        };
        let burst: Vec<_> = (0..10).map(|_| at(0)).collect();
        assert!(burst.iter().all(|(is_allowed, _)| *is_allowed));
        assert_eq!((burst[0].1, burst[9].1), (9, 0));
        assert_eq!([at(0), at(99)], [(false, 0), (false, 0)]);
        assert_eq!([at(101), at(101)], [(true, 0), (false, 0)]);
        assert_eq!(at(3_600_000), (true, 9), "unused requests are not saved up");
        let allowed = (0..10_000).filter(|n| at(4_000_000 + n).0).count();
        assert!((109..=110).contains(&allowed), "{allowed} in ten seconds");
    }

    #[test]
    fn a_new_limit_starts_with_a_full_bucket_and_zero_means_no_limit() {
        let start = Instant::now();
        let mut tenant = TenantRate::new(1, ReplicaShare::WHOLE, start);
        assert!(tenant.take(ReplicaShare::WHOLE, start).unwrap().is_allowed);
        tenant.reload(1, ReplicaShare::WHOLE, start);
        assert!(
            !tenant.take(ReplicaShare::WHOLE, start).unwrap().is_allowed,
            "a reload gives nothing back"
        );
        tenant.reload(5, ReplicaShare::WHOLE, start);
        assert_eq!(tenant.take(ReplicaShare::WHOLE, start).unwrap().remaining, 4);
        tenant.reload(0, ReplicaShare::WHOLE, start);
        assert_eq!(tenant.take(ReplicaShare::WHOLE, start), None);
    }

    #[test]
    fn each_server_enforces_its_share() {
        let start = Instant::now();
        let share = |rank, of| ReplicaShare::new(rank, of).unwrap();
        let mut tenant = TenantRate::new(10, share(1, 2), start);
        let n_allowed = |tenant: &mut TenantRate, share, at| {
            (0..50).filter(|_| tenant.take(share, at).unwrap().is_allowed).count()
        };
        assert_eq!(n_allowed(&mut tenant, share(1, 2), start), 5);
        assert_eq!(
            n_allowed(&mut tenant, ReplicaShare::WHOLE, start),
            0,
            "what was used stays used"
        );
        let later = start + Duration::from_secs(1);
        assert_eq!(n_allowed(&mut tenant, ReplicaShare::WHOLE, later), 10);

        // At least one request, with a longer wait for the next.
        let mut tenant = TenantRate::new(2, share(4, 5), later);
        assert_eq!(n_allowed(&mut tenant, share(4, 5), later), 1);
        let refused = tenant.take(share(4, 5), later).unwrap();
        assert_eq!((refused.limit, refused.remaining, refused.seconds()), (2, 0, 3));
        let soon = later + Duration::from_secs(3);
        assert_eq!(n_allowed(&mut tenant, share(4, 5), soon), 1);
    }
}
