//! How fast a tenant may send requests.
//!
//! Each tenant has a bucket that holds what it may send in one second and is filled evenly, so that a
//! burst of a second's worth passes and nothing faster lasts. Who finds it empty is turned away at once,
//! not kept waiting. A tenant's own limit goes before the setting, and is looked up now and then. Each
//! server counts for itself.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gatehouse_core::TenantName;
use gatehouse_store::{Store, StoreError};

/// How long a tenant's own limit is taken to be what it was.
const LOOKED_UP_FOR: Duration = Duration::from_secs(5);

/// The limits of all tenants, and what they have left.
pub(crate) struct Rates {
    /// What is allowed where a tenant has no limit of its own; 0 for any number.
    default: u64,
    /// Only tenants that exist are here, so it grows no further than they do.
    tenants: Mutex<HashMap<TenantName, Tenant>>,
}

struct Tenant {
    limit: u64,
    looked_up: Instant,
    bucket: Bucket,
}

/// What is left of a second's worth, as it was at an instant.
struct Bucket {
    left: f64,
    at: Instant,
}

/// What a request has found in its tenant's bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allowance {
    /// Requests that are allowed in a second.
    pub(crate) limit: u64,
    /// How many are left, after this one.
    pub(crate) left: u64,
    /// Whether this one was among them.
    pub(crate) is_allowed: bool,
}

impl Rates {
    pub(crate) fn new(default: u64) -> Self {
        Self { default, tenants: Mutex::default() }
    }

    /// Counts a request of a tenant; `None` where nothing limits it.
    pub(crate) async fn count(
        &self,
        store: &Store,
        tenant: &TenantName,
    ) -> Result<Option<Allowance>, StoreError> {
        let now = Instant::now();
        if let Some(known) = self.tenants().get_mut(tenant)
            && now.duration_since(known.looked_up) < LOOKED_UP_FOR
        {
            return Ok(known.take(now));
        }
        let Some(found) = store.tenant(tenant).await? else { return Ok(None) };
        let limit = found.requests_per_second.unwrap_or(self.default);
        let mut tenants = self.tenants();
        let known = tenants.entry(tenant.clone()).or_insert_with(|| Tenant::new(limit, now));
        known.look(limit, now);
        Ok(known.take(now))
    }

    /// Looks the tenant's limit up again at its next request.
    pub(crate) fn forget(&self, tenant: &TenantName) {
        self.tenants().remove(tenant);
    }

    fn tenants(&self) -> MutexGuard<'_, HashMap<TenantName, Tenant>> {
        // A bucket is whole whatever panicked beside it.
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tenant {
    fn new(limit: u64, now: Instant) -> Self {
        Self { limit, looked_up: now, bucket: Bucket { left: limit as f64, at: now } }
    }

    /// Takes in what was looked up. What had been used stays used.
    fn look(&mut self, limit: u64, now: Instant) {
        if limit != self.limit {
            *self = Self::new(limit, now);
        }
        self.looked_up = now;
    }

    fn take(&mut self, now: Instant) -> Option<Allowance> {
        let limit = self.limit;
        if limit == 0 {
            return None;
        }
        let is_allowed = self.bucket.take(limit, now);
        Some(Allowance { limit, left: self.bucket.left as u64, is_allowed })
    }
}

impl Bucket {
    fn take(&mut self, limit: u64, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + passed * limit as f64).min(limit as f64);
        self.at = now.max(self.at);
        let is_left = self.left >= 1.0;
        if is_left {
            self.left -= 1.0;
        }
        is_left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_nothing_faster_lasts() {
        let start = Instant::now();
        let mut tenant = Tenant::new(10, start);
        let mut at = |milliseconds| {
            let seen = tenant.take(start + Duration::from_millis(milliseconds)).unwrap();
            (seen.is_allowed, seen.left)
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
        let mut tenant = Tenant::new(1, start);
        assert!(tenant.take(start).unwrap().is_allowed);
        tenant.look(1, start);
        assert!(!tenant.take(start).unwrap().is_allowed, "looking gives nothing back");
        tenant.look(5, start);
        assert_eq!(tenant.take(start).unwrap().left, 4);
        tenant.look(0, start);
        assert_eq!(tenant.take(start), None);
    }
}
