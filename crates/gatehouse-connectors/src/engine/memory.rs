//! Which accounts hold what, as far as it was seen.
//!
//! Only a hint: whoever is sent by it to the wrong account asks the others after all. A carrier is remembered
//! when every account has answered, so that none that carries the same number is left out, and only for the
//! accounts that were asked; a product's own identifier whenever it is seen, because it is unique. What is
//! kept are keyed digests, of accounts as they were: one that has changed is another.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::{GenerationalCache, Identifier, ProductId, TenantName};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::engine::live::LiveAccount;

/// Things that are remembered in one generation; two generations are kept.
const GENERATION: usize = 100_000;

/// How long something is remembered.
const LIFE: Duration = Duration::from_secs(60);

/// What is remembered of all tenants.
#[derive(Default)]
pub(crate) struct Memory {
    hasher: RandomState,
    holders: Mutex<GenerationalCache<u64, Held, GENERATION>>,
}

/// The accounts that hold something, and since when that is known.
#[derive(Clone)]
struct Held {
    by: u64,
    /// Mostly there is one, and this takes no room.
    and_by: Box<[u64]>,
    since: Instant,
}

/// The accounts that are asked, as they are now.
pub(crate) struct Roster<'a> {
    pub(crate) accounts: &'a [Arc<LiveAccount>],
    digests: Vec<u64>,
    /// All of them together.
    digest: u64,
}

impl Memory {
    /// Accounts of a tenant.
    pub(crate) fn roster<'a>(&self, accounts: &'a [Arc<LiveAccount>]) -> Roster<'a> {
        let digest = |it: &Arc<LiveAccount>| {
            self.hasher.hash_one((it.tenant(), &it.account().name, it.version()))
        };
        let digests: Vec<u64> = accounts.iter().map(digest).collect();
        Roster { accounts, digest: self.hasher.hash_one(&digests), digests }
    }

    /// Where in a roster those are who carry an identifier; `None` where it isn't known.
    pub(crate) fn carriers(
        &self,
        roster: &Roster<'_>,
        identifier: &Identifier,
    ) -> Option<Vec<usize>> {
        self.recall(self.carried(roster, identifier), roster)
    }

    /// Where in a roster those are who hold a product; `None` where it isn't known.
    pub(crate) fn holders(&self, roster: &Roster<'_>, id: &ProductId) -> Option<Vec<usize>> {
        let tenant = roster.accounts.first()?.tenant();
        self.recall(self.named(tenant, id.platform.as_str(), &id.local_id), roster)
    }

    /// Keeps in mind who of a roster carries an identifier: all who do.
    pub(crate) fn learn_carriers(
        &self,
        roster: &Roster<'_>,
        identifier: &Identifier,
        by: &[usize],
    ) {
        let mut by = by.iter().map(|n| roster.digests[*n]);
        if let Some(first) = by.next() {
            self.learn([(self.carried(roster, identifier), first, by.collect())]);
        }
    }

    /// Keeps in mind what products one of a roster holds, by what their platform calls them.
    pub(crate) fn learn_products<'p>(
        &self,
        roster: &Roster<'_>,
        by: usize,
        local_ids: impl IntoIterator<Item = &'p str>,
    ) {
        let (account, digest) = (&roster.accounts[by], roster.digests[by]);
        let (tenant, platform) = (account.tenant(), account.account().platform.as_str());
        let learnt = local_ids
            .into_iter()
            .map(|id| (self.named(tenant, platform, id), digest, Box::default()));
        self.learn(learnt);
    }

    fn carried(&self, roster: &Roster<'_>, identifier: &Identifier) -> u64 {
        self.hasher.hash_one((roster.digest, identifier.kind(), identifier.key()))
    }

    fn named(&self, tenant: &TenantName, platform: &str, local_id: &str) -> u64 {
        self.hasher.hash_one((tenant, platform, local_id))
    }

    fn learn(&self, held: impl IntoIterator<Item = (u64, u64, Box<[u64]>)>) {
        let since = Instant::now();
        let mut holders = self.holders.lock();
        for (digest, by, and_by) in held {
            holders.insert(digest, Held { by, and_by, since });
        }
    }

    fn recall(&self, digest: u64, roster: &Roster<'_>) -> Option<Vec<usize>> {
        let held = self.holders.lock().get(&digest).cloned()?;
        if held.since.elapsed() >= LIFE {
            return None;
        }
        let by = |digest: &u64| roster.digests.iter().position(|it| it == digest);
        let by: Vec<usize> = [held.by].iter().chain(&held.and_by).filter_map(by).collect();
        (!by.is_empty()).then_some(by)
    }
}
