//! How fast a tenant may send requests.
//!
//! Each tenant has a bucket that holds what it may send in one second and is filled evenly, so that a
//! burst of a second's worth passes and nothing faster lasts. Who finds it empty is turned away at once,
//! not kept waiting. A tenant's own limit goes before the setting, and is looked up now and then. Of several
//! servers each has its share of the limit, and counts for itself.

use std::collections::HashMap;
use std::time::Duration;

use gatehouse_core::rate::bucket::Bucket;
use gatehouse_core::{CurrentShare, ReplicaShare, TenantName};
use gatehouse_store::{Store, StoreError};
use parking_lot::Mutex;
use tokio::time::Instant;

/// How long a tenant's own limit is taken to be what it was.
const LOOKED_UP_FOR: Duration = Duration::from_secs(5);

/// How long an empty bucket takes to be full.
const FILLED_WITHIN: Duration = Duration::from_secs(1);

/// The limits of all tenants, and what they have left.
pub(crate) struct RateLimiter {
    /// What is allowed where a tenant has no limit of its own; 0 for any number.
    default: u64,
    /// Which part of each limit is this server's.
    share: CurrentShare,
    /// Only tenants that exist are here, so it grows no further than they do.
    tenants: Mutex<HashMap<TenantName, Tenant>>,
}

struct Tenant {
    limit: u64,
    looked_up: Instant,
    bucket: Bucket,
    /// When the bucket was last filled.
    filled: Instant,
}

/// What a request has found in its tenant's bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allowance {
    /// Requests that are allowed in a second, over all servers.
    pub(crate) limit: u64,
    /// Which part of them is this server's.
    pub(crate) share: ReplicaShare,
    /// How many this server has left, after this one.
    pub(crate) remaining: u64,
    /// Whether this one was among them.
    pub(crate) is_allowed: bool,
}

impl RateLimiter {
    pub(crate) fn new(default: u64, share: CurrentShare) -> Self {
        Self { default, share, tenants: Mutex::default() }
    }

    /// Counts a request of a tenant; `None` where nothing limits it.
    pub(crate) async fn count(
        &self,
        store: &Store,
        tenant: &TenantName,
    ) -> Result<Option<Allowance>, StoreError> {
        let (now, share) = (Instant::now(), self.share.get());
        if let Some(known) = self.tenants.lock().get_mut(tenant)
            && now.duration_since(known.looked_up) < LOOKED_UP_FOR
        {
            return Ok(known.take(share, now));
        }
        // Boxed, since it is seldom looked up.
        let Some(found) = Box::pin(store.tenant(tenant)).await? else { return Ok(None) };
        let limit = found.requests_per_second.unwrap_or(self.default);
        let mut tenants = self.tenants.lock();
        // What has become this server's a moment ago may just have been used by others.
        let narrowest = self.share.narrowest_for(FILLED_WITHIN, now.into_std());
        let known =
            tenants.entry(tenant.clone()).or_insert_with(|| Tenant::new(limit, narrowest, now));
        known.look(limit, narrowest, now);
        Ok(known.take(share, now))
    }

    /// Looks the tenant's limit up again at its next request.
    pub(crate) fn invalidate(&self, tenant: &TenantName) {
        self.tenants.lock().remove(tenant);
    }
}

impl Allowance {
    /// Seconds after which a bucket that nobody draws from is full, or has one more for whom it was empty: more
    /// than one where there are more servers than requests.
    pub(crate) fn seconds(self) -> u64 {
        u64::from(self.share.of()).div_ceil(self.limit.max(1))
    }
}

impl Tenant {
    fn new(limit: u64, share: ReplicaShare, now: Instant) -> Self {
        let bucket = Bucket::full(limit as f64, limit as f64, share);
        Self { limit, looked_up: now, bucket, filled: now }
    }

    /// Takes in what was looked up. What had been used stays used.
    fn look(&mut self, limit: u64, share: ReplicaShare, now: Instant) {
        if limit != self.limit {
            *self = Self::new(limit, share, now);
        }
        self.looked_up = now;
    }

    fn take(&mut self, share: ReplicaShare, now: Instant) -> Option<Allowance> {
        let limit = self.limit;
        if limit == 0 {
            return None;
        }
        self.bucket.fill(share, now.saturating_duration_since(self.filled));
        self.filled = self.filled.max(now);
        let is_allowed = self.bucket.take().is_ok();
        Some(Allowance { limit, share, remaining: self.bucket.left(), is_allowed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_nothing_faster_lasts() {
        let start = Instant::now();
        let mut tenant = Tenant::new(10, ReplicaShare::WHOLE, start);
        let mut at = |milliseconds| {
            let seen = tenant
                .take(ReplicaShare::WHOLE, start + Duration::from_millis(milliseconds))
                .unwrap();
            (seen.is_allowed, seen.remaining)
        };
        let burst: Vec<_> = (0..10).map(|_| at(0)).collect();
        assert!(burst.iter().all(|(is_allowed, _)| *is_allowed));
        assert_eq!((burst[0].1, burst[9].1), (9, 0));
        assert_eq!([at(0), at(99)], [(false, 0), (false, 0)]);
        assert_eq!([at(101), at(101)], [(true, 0), (false, 0)]);
        assert_eq!(at(3_600_000), (true, 9), "what nobody used is not saved up");
        let allowed = (0..10_000).filter(|n| at(4_000_000 + n).0).count();
        assert!((109..=110).contains(&allowed), "{allowed} in ten seconds");
    }

    #[test]
    fn a_new_limit_begins_anew_and_none_is_none() {
        let start = Instant::now();
        let mut tenant = Tenant::new(1, ReplicaShare::WHOLE, start);
        assert!(tenant.take(ReplicaShare::WHOLE, start).unwrap().is_allowed);
        tenant.look(1, ReplicaShare::WHOLE, start);
        assert!(
            !tenant.take(ReplicaShare::WHOLE, start).unwrap().is_allowed,
            "looking gives nothing back"
        );
        tenant.look(5, ReplicaShare::WHOLE, start);
        assert_eq!(tenant.take(ReplicaShare::WHOLE, start).unwrap().remaining, 4);
        tenant.look(0, ReplicaShare::WHOLE, start);
        assert_eq!(tenant.take(ReplicaShare::WHOLE, start), None);
    }
    #[test]
    fn of_several_servers_each_has_its_slice() {
        let start = Instant::now();
        let share = |rank, of| ReplicaShare::new(rank, of).unwrap();
        let mut tenant = Tenant::new(10, share(1, 2), start);
        let n_allowed = |tenant: &mut Tenant, share, at| {
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

        // One request at least, and then longer to wait for the next.
        let mut tenant = Tenant::new(2, share(4, 5), later);
        assert_eq!(n_allowed(&mut tenant, share(4, 5), later), 1);
        let refused = tenant.take(share(4, 5), later).unwrap();
        assert_eq!((refused.limit, refused.remaining, refused.seconds()), (2, 0, 3));
        let soon = later + Duration::from_secs(3);
        assert_eq!(n_allowed(&mut tenant, share(4, 5), soon), 1);
    }
}
