//! The accounts that are open: asked before, and perhaps to be asked again.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gatehouse_core::{AccountName, TenantName};

use crate::live::LiveAccount;

/// Most accounts that are open at once, over all tenants.
const OPEN_MAX: usize = 10_000;

/// Part of them that make room when there is none, those that were asked longest ago.
const LEAVING: usize = OPEN_MAX / 10;

/// All open accounts.
#[derive(Default)]
pub(crate) struct OpenAccounts {
    by_tenant: Mutex<ByTenant>,
    uses: AtomicU64,
}

#[derive(Default)]
struct ByTenant {
    accounts: HashMap<TenantName, HashMap<AccountName, Arc<LiveAccount>>>,
    n_accounts: usize,
}

impl OpenAccounts {
    /// The account, as it was opened last.
    pub(crate) fn get(&self, tenant: &TenantName, name: &AccountName) -> Option<Arc<LiveAccount>> {
        let open = self.locked().accounts.get(tenant)?.get(name).cloned()?;
        self.use_now(&open);
        Some(open)
    }

    /// Takes an account in, in place of what it was before; the newer one stays.
    pub(crate) fn insert(&self, account: LiveAccount) -> Arc<LiveAccount> {
        let account = Arc::new(account);
        self.use_now(&account);
        let mut by_tenant = self.locked();
        let of_tenant = by_tenant.accounts.entry(account.tenant().clone()).or_default();
        let name = account.account().name.clone();
        match of_tenant.get(&name) {
            // Two requests that opened it at once share one.
            Some(open) if open.version() >= account.version() => return Arc::clone(open),
            Some(_) => {
                of_tenant.insert(name, Arc::clone(&account));
            }
            None => {
                of_tenant.insert(name, Arc::clone(&account));
                by_tenant.n_accounts += 1;
            }
        }
        if by_tenant.n_accounts > OPEN_MAX {
            by_tenant.make_room();
        }
        account
    }

    /// Closes the accounts of a tenant that are not among these.
    pub(crate) fn keep_only(&self, tenant: &TenantName, kept: &[&AccountName]) {
        let mut by_tenant = self.locked();
        let Some(of_tenant) = by_tenant.accounts.get_mut(tenant) else { return };
        let n_before = of_tenant.len();
        if n_before > kept.len() || kept.is_empty() {
            let kept: HashSet<&AccountName> = kept.iter().copied().collect();
            of_tenant.retain(|name, _| kept.contains(name));
            let n_gone = n_before - of_tenant.len();
            let is_empty = of_tenant.is_empty();
            by_tenant.n_accounts -= n_gone;
            if is_empty {
                by_tenant.accounts.remove(tenant);
            }
        }
    }

    fn use_now(&self, account: &LiveAccount) {
        let now = self.uses.fetch_add(1, Ordering::Relaxed);
        account.last_used.store(now, Ordering::Relaxed);
    }

    fn locked(&self) -> MutexGuard<'_, ByTenant> {
        // What is open can be opened again, whatever panicked beside it.
        self.by_tenant.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ByTenant {
    fn make_room(&mut self) {
        let all = self.accounts.values().flat_map(HashMap::values);
        let mut used: Vec<u64> = all.map(|it| it.last_used.load(Ordering::Relaxed)).collect();
        used.sort_unstable();
        let oldest_kept = used.get(LEAVING).copied().unwrap_or_default();
        for of_tenant in self.accounts.values_mut() {
            of_tenant.retain(|_, it| it.last_used.load(Ordering::Relaxed) >= oldest_kept);
        }
        self.accounts.retain(|_, of_tenant| !of_tenant.is_empty());
        self.n_accounts = self.accounts.values().map(HashMap::len).sum();
    }
}
