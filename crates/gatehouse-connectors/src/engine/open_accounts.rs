//! Open accounts, cached between requests.
//!
//! An open account holds credentials and has metrics, so it is closed when the account is deleted: at once on this
//! server. A deletion by another server is noticed when the tenant lists its products, or when the account is unused
//! for an hour.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gatehouse_core::{AccountName, TenantName};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::engine::live::LiveAccount;

/// Most open accounts over all tenants.
const OPEN_MAX: usize = 10_000;

/// Number of least recently used accounts that are closed when there are too many.
const EVICTED_AT_ONCE: usize = OPEN_MAX / 10;

/// Idle time after which an account is closed.
const IDLE_MAX: Duration = Duration::from_secs(60 * 60);

/// Interval between checks for idle accounts.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(crate) struct OpenAccounts {
    by_tenant: Mutex<ByTenant>,
    uses: AtomicU64,
}

#[derive(Default)]
struct ByTenant {
    accounts: HashMap<TenantName, HashMap<AccountName, Open>>,
    n_accounts: usize,
    /// Last check for idle accounts.
    checked_at: Option<Instant>,
}

struct Open {
    account: Arc<LiveAccount>,
    used: Instant,
}

impl OpenAccounts {
    pub(crate) fn get(&self, tenant: &TenantName, name: &AccountName) -> Option<Arc<LiveAccount>> {
        let mut by_tenant = self.by_tenant.lock();
        let open = by_tenant.accounts.get_mut(tenant)?.get_mut(name)?;
        open.used = Instant::now();
        self.touch(&open.account);
        Some(Arc::clone(&open.account))
    }

    /// Adds an account, in place of any other version.
    pub(crate) fn insert(&self, account: LiveAccount) -> Arc<LiveAccount> {
        let (account, now) = (Arc::new(account), Instant::now());
        self.touch(&account);
        let mut by_tenant = self.by_tenant.lock();
        by_tenant.close_idle(now);
        let of_tenant = by_tenant.accounts.entry(account.tenant().clone()).or_default();
        let name = account.account().name.clone();
        match of_tenant.get(&name) {
            // Concurrent requests that opened the account share one.
            Some(open) if open.account.version() == account.version() => {
                return Arc::clone(&open.account);
            }
            // Version order can't tell which is newer: a tenant may be recreated while the clock is behind.
            Some(_) => {
                of_tenant.insert(name, Open { account: Arc::clone(&account), used: now });
            }
            None => {
                of_tenant.insert(name, Open { account: Arc::clone(&account), used: now });
                by_tenant.n_accounts += 1;
            }
        }
        if by_tenant.n_accounts > OPEN_MAX {
            by_tenant.evict();
        }
        account
    }

    /// Closes an account, if it is open.
    pub(crate) fn close(&self, tenant: &TenantName, name: &AccountName) {
        self.by_tenant.lock().retain_of(tenant, |it| it != name);
    }

    /// Closes a tenant's accounts that are not in `kept`.
    pub(crate) fn keep_only(&self, tenant: &TenantName, kept: &[&AccountName]) {
        let mut by_tenant = self.by_tenant.lock();
        by_tenant.close_idle(Instant::now());
        let Some(of_tenant) = by_tenant.accounts.get(tenant) else { return };
        let n_kept = kept.iter().filter(|it| of_tenant.contains_key(**it)).count();
        if n_kept < of_tenant.len() {
            let kept: HashSet<&AccountName> = kept.iter().copied().collect();
            by_tenant.retain_of(tenant, |it| kept.contains(it));
        }
    }

    fn touch(&self, account: &LiveAccount) {
        let now = self.uses.fetch_add(1, Ordering::Relaxed);
        account.last_used.store(now, Ordering::Relaxed);
    }
}

impl ByTenant {
    fn close_idle(&mut self, now: Instant) {
        if self.checked_at.is_some_and(|checked_at| now - checked_at < IDLE_CHECK_INTERVAL) {
            return;
        }
        self.checked_at = Some(now);
        self.retain(|it| now - it.used < IDLE_MAX);
    }

    fn evict(&mut self) {
        let used = |it: &Open| it.account.last_used.load(Ordering::Relaxed);
        let mut all: Vec<u64> =
            self.accounts.values().flat_map(HashMap::values).map(used).collect();
        all.sort_unstable();
        let oldest_kept = all.get(EVICTED_AT_ONCE).copied().unwrap_or_default();
        self.retain(|it| used(it) >= oldest_kept);
    }

    fn retain(&mut self, is_kept: impl Fn(&Open) -> bool) {
        for of_tenant in self.accounts.values_mut() {
            of_tenant.retain(|_, it| is_kept(it));
        }
        self.accounts.retain(|_, of_tenant| !of_tenant.is_empty());
        self.n_accounts = self.accounts.values().map(HashMap::len).sum();
    }

    fn retain_of(&mut self, tenant: &TenantName, is_kept: impl Fn(&AccountName) -> bool) {
        let Some(of_tenant) = self.accounts.get_mut(tenant) else { return };
        let n_before = of_tenant.len();
        of_tenant.retain(|name, _| is_kept(name));
        self.n_accounts -= n_before - of_tenant.len();
        if of_tenant.is_empty() {
            self.accounts.remove(tenant);
        }
    }
}

#[cfg(test)]
mod tests;
