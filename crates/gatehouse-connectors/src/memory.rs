//! Which accounts hold what, as far as it was seen.
//!
//! Only a hint: whoever is sent by it to the wrong account asks the others after all. A carrier is remembered
//! when every account has answered, so that none that carries the same number is left out; a product's
//! own identifier whenever it is seen, because it is unique. What is kept are keyed digests and
//! the positions of accounts, tied to the accounts that the tenant has: when these change, it is forgotten.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gatehouse_core::{Identifier, ProductId};
use tokio::time::Instant;

use crate::live::LiveAccount;

/// Things that are remembered in one generation; two generations are kept.
const GENERATION: usize = 100_000;

/// How long something is remembered.
const LIFE: Duration = Duration::from_secs(5 * 60);

/// What is remembered of all tenants.
#[derive(Default)]
pub(crate) struct Memory {
    hasher: RandomState,
    generations: Mutex<Generations>,
}

/// The young are filled; when they are full they become the old, and the old are forgotten.
#[derive(Default)]
struct Generations {
    young: HashMap<u64, Held>,
    old: HashMap<u64, Held>,
}

/// Positions of the accounts that hold something, and since when that is known.
#[derive(Clone)]
struct Held {
    by: Box<[u16]>,
    since: Instant,
}

/// All accounts of a tenant, as they are now.
#[derive(Clone, Copy)]
pub(crate) struct Roster<'a> {
    pub(crate) accounts: &'a [Arc<LiveAccount>],
    fingerprint: u64,
}

impl Memory {
    /// The accounts of a tenant.
    pub(crate) fn roster<'a>(&self, accounts: &'a [Arc<LiveAccount>]) -> Roster<'a> {
        let who = |it: &'a Arc<LiveAccount>| (it.tenant(), &it.account().name, it.version());
        let who: Vec<_> = accounts.iter().map(who).collect();
        Roster { accounts, fingerprint: self.hasher.hash_one(who) }
    }

    /// Who carries an identifier; `None` where it isn't known.
    pub(crate) fn carriers(
        &self,
        roster: Roster<'_>,
        identifier: &Identifier,
    ) -> Option<Vec<usize>> {
        self.recall(self.digest(roster, (identifier.kind(), identifier.key())))
    }

    /// Who holds a product; `None` where it isn't known.
    pub(crate) fn holder(&self, roster: Roster<'_>, id: &ProductId) -> Option<Vec<usize>> {
        self.recall(self.digest(roster, (id.platform.as_str(), id.local_id.as_str())))
    }

    /// Keeps in mind who carries an identifier: all who do.
    pub(crate) fn learn_carriers(&self, roster: Roster<'_>, identifier: &Identifier, by: &[usize]) {
        let digest = self.digest(roster, (identifier.kind(), identifier.key()));
        self.learn([(digest, by)]);
    }

    /// Keeps in mind who holds products of these platforms and names.
    pub(crate) fn learn_products<'p>(
        &self,
        roster: Roster<'_>,
        products: impl IntoIterator<Item = (&'p str, &'p str, usize)>,
    ) {
        let digests = products
            .into_iter()
            .map(|(platform, local_id, by)| (self.digest(roster, (platform, local_id)), [by]));
        self.learn(digests);
    }

    fn digest(&self, roster: Roster<'_>, what: impl Hash) -> u64 {
        self.hasher.hash_one((roster.fingerprint, what))
    }

    fn learn(&self, held: impl IntoIterator<Item = (u64, impl AsRef<[usize]>)>) {
        let since = Instant::now();
        let mut generations = self.generations();
        for (digest, by) in held {
            let by = by.as_ref().iter().filter_map(|n| u16::try_from(*n).ok()).collect();
            generations.insert(digest, Held { by, since });
        }
    }

    fn recall(&self, digest: u64) -> Option<Vec<usize>> {
        let mut generations = self.generations();
        let held = match generations.young.get(&digest) {
            Some(held) => held.clone(),
            None => {
                let held = generations.old.get(&digest)?.clone();
                generations.insert(digest, held.clone());
                held
            }
        };
        let is_fresh = held.since.elapsed() < LIFE && !held.by.is_empty();
        is_fresh.then(|| held.by.iter().map(|n| usize::from(*n)).collect())
    }

    fn generations(&self) -> MutexGuard<'_, Generations> {
        // Hints are whole whatever panicked beside them.
        self.generations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Generations {
    fn insert(&mut self, digest: u64, held: Held) {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(digest, held);
    }
}
