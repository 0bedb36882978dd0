//! Cache of the accounts that hold a product or carry an identifier, so that a search calls only these.
//!
//! An entry is only a hint: if the account doesn't have the product after all, the search calls the others. Carriers of
//! an identifier are cached once every account has responded, so that none is left out, and only for the same set of
//! accounts. A product's holder is cached whenever the product is seen, because a product id is unique. Keys and values
//! are keyed digests; the digest of an account changes with its version.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::{GenerationalCache, Identifier, ProductId, TenantName};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::engine::live::LiveAccount;

/// Entries of one generation; the cache has two.
const GENERATION: usize = 100_000;

/// Lifetime of an entry.
const LIFE: Duration = Duration::from_secs(60);

/// Accounts that hold products and carry identifiers, of all tenants.
#[derive(Default)]
pub(crate) struct HolderCache {
    hasher: RandomState,
    holders: Mutex<GenerationalCache<u64, Entry, GENERATION>>,
}

/// Digests of the accounts that hold a product or carry an identifier.
#[derive(Clone)]
struct Entry {
    first: u64,
    /// Usually empty, which needs no allocation.
    others: Box<[u64]>,
    since: Instant,
}

/// The accounts of a search or a list, in their present versions.
pub(crate) struct AccountSet<'a> {
    pub(crate) accounts: &'a [Arc<LiveAccount>],
    digests: Vec<u64>,
    /// Digest of the whole set.
    digest: u64,
}

impl HolderCache {
    /// The set of a tenant's accounts.
    pub(crate) fn account_set<'a>(&self, accounts: &'a [Arc<LiveAccount>]) -> AccountSet<'a> {
        let digest = |it: &Arc<LiveAccount>| {
            self.hasher.hash_one((it.tenant(), &it.account().name, it.version()))
        };
        let digests: Vec<u64> = accounts.iter().map(digest).collect();
        AccountSet { accounts, digest: self.hasher.hash_one(&digests), digests }
    }

    /// Indexes of the accounts that carry an identifier; `None` if unknown.
    pub(crate) fn carriers(
        &self,
        account_set: &AccountSet<'_>,
        identifier: &Identifier,
    ) -> Option<Vec<usize>> {
        self.indexes(self.identifier_key(account_set, identifier), account_set)
    }

    /// Indexes of the accounts that hold a product; `None` if unknown.
    pub(crate) fn holders(
        &self,
        account_set: &AccountSet<'_>,
        id: &ProductId,
    ) -> Option<Vec<usize>> {
        let tenant = account_set.accounts.first()?.tenant();
        self.indexes(self.product_key(tenant, id.platform.as_str(), &id.local_id), account_set)
    }

    /// Stores the indexes of all accounts that carry an identifier.
    pub(crate) fn store_carriers(
        &self,
        account_set: &AccountSet<'_>,
        identifier: &Identifier,
        by: &[usize],
    ) {
        let mut by = by.iter().map(|n| account_set.digests[*n]);
        if let Some(first) = by.next() {
            self.insert([(self.identifier_key(account_set, identifier), first, by.collect())]);
        }
    }

    /// Stores an account as the holder of products, given by their local ids.
    pub(crate) fn store_products<'p>(
        &self,
        account_set: &AccountSet<'_>,
        by: usize,
        local_ids: impl IntoIterator<Item = &'p str>,
    ) {
        let (account, digest) = (&account_set.accounts[by], account_set.digests[by]);
        let (tenant, platform) = (account.tenant(), account.account().platform.as_str());
        let entries = local_ids
            .into_iter()
            .map(|id| (self.product_key(tenant, platform, id), digest, Box::default()));
        self.insert(entries);
    }

    fn identifier_key(&self, account_set: &AccountSet<'_>, identifier: &Identifier) -> u64 {
        self.hasher.hash_one((account_set.digest, identifier.kind(), identifier.key()))
    }

    fn product_key(&self, tenant: &TenantName, platform: &str, local_id: &str) -> u64 {
        self.hasher.hash_one((tenant, platform, local_id))
    }

    fn insert(&self, entries: impl IntoIterator<Item = (u64, u64, Box<[u64]>)>) {
        let since = Instant::now();
        let mut holders = self.holders.lock();
        for (key, first, others) in entries {
            holders.insert(key, Entry { first, others, since });
        }
    }

    fn indexes(&self, key: u64, account_set: &AccountSet<'_>) -> Option<Vec<usize>> {
        let entry = self.holders.lock().get(&key).cloned()?;
        if entry.since.elapsed() >= LIFE {
            return None;
        }
        let index = |digest: &u64| account_set.digests.iter().position(|it| it == digest);
        let indexes: Vec<usize> =
            [entry.first].iter().chain(&entry.others).filter_map(index).collect();
        (!indexes.is_empty()).then_some(indexes)
    }
}
