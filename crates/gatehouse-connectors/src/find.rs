//! Looking for many products over all accounts, those first that are known to have them.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesOrdered;
use gatehouse_core::{Product, ProductId};

use crate::connector::Ask;
use crate::live::LiveAccount;
use crate::memory::Roster;
use crate::platforms::{AccountTrouble, Finding, Platforms, Reading, Wanted};
use crate::seek::{Sighting, Target, seek};

impl Platforms {
    /// Looks for many products at once. `accounts` are all that could have them, in their order.
    pub async fn find(&self, accounts: &[Arc<LiveAccount>], wanted: &Wanted, ask: Ask) -> Finding {
        let roster = self.memory.roster(accounts);
        let mut search = Search::new(wanted, roster);
        let hints: Vec<Option<Vec<usize>>> = search.recall(self);
        let first = |n: usize, at: usize| hints[n].as_ref().is_none_or(|hint| hint.contains(&at));
        search.round(ask, first).await;
        // Who isn't where it was seen last may be anywhere.
        let lost: Vec<bool> =
            (0..hints.len()).map(|n| hints[n].is_some() && search.holders[n].is_empty()).collect();
        if lost.contains(&true) {
            search.round(ask, |n, at| lost[n] && !first(n, at)).await;
        }
        let is_complete = |n: usize| hints[n].is_none() || lost[n];
        search.teach(self, is_complete);
        search.finish()
    }

    /// Asks for one product. `accounts` are all that could have it, in their order.
    pub async fn read(&self, accounts: &[Arc<LiveAccount>], id: &ProductId, ask: Ask) -> Reading {
        let wanted = Wanted { identifiers: Vec::new(), ids: vec![id.clone()] };
        let Finding { products, troubles, .. } = self.find(accounts, &wanted, ask).await;
        Reading { product: products.into_iter().next(), troubles }
    }
}

/// A search, half done.
struct Search<'w> {
    wanted: &'w Wanted,
    roster: Roster<'w>,
    targets: Vec<Target<'w>>,
    /// For each account, what it gave.
    sightings: Vec<Sighting>,
    /// For each target, the accounts that have it.
    holders: Vec<Vec<usize>>,
    /// Targets of which an account didn't say whether it has them.
    unsure: HashSet<usize>,
}

impl<'w> Search<'w> {
    fn new(wanted: &'w Wanted, roster: Roster<'w>) -> Self {
        let carriers = wanted.identifiers.iter().map(Target::Carrier);
        let named = wanted.ids.iter().map(|id| Target::Named(&id.local_id));
        let targets: Vec<_> = carriers.chain(named).collect();
        Self {
            wanted,
            sightings: roster.accounts.iter().map(|_| Sighting::default()).collect(),
            holders: vec![Vec::new(); targets.len()],
            unsure: HashSet::new(),
            targets,
            roster,
        }
    }

    /// The product that a target is, where it is one by name.
    fn id(&self, n: usize) -> Option<&'w ProductId> {
        n.checked_sub(self.wanted.identifiers.len()).map(|n| &self.wanted.ids[n])
    }

    /// Where each target was seen last.
    fn recall(&self, platforms: &Platforms) -> Vec<Option<Vec<usize>>> {
        let recall = |n: usize| match (self.id(n), self.wanted.identifiers.get(n)) {
            (Some(id), _) => platforms.memory.holders(&self.roster, id),
            (None, Some(identifier)) => platforms.memory.carriers(&self.roster, identifier),
            (None, None) => None,
        };
        (0..self.targets.len()).map(recall).collect()
    }

    /// Asks all accounts at once, each for the targets that are meant for it and that it could have.
    async fn round(&mut self, ask: Ask, is_meant: impl Fn(usize, usize) -> bool) {
        let could_have = |n: usize, account: &LiveAccount| {
            self.id(n).is_none_or(|id| id.platform == account.account().platform)
        };
        let asked: Vec<(usize, Vec<(usize, Target<'_>)>)> = self
            .roster
            .accounts
            .iter()
            .enumerate()
            .map(|(at, account)| {
                let targets = self.targets.iter().copied().enumerate();
                (at, targets.filter(|(n, _)| could_have(*n, account) && is_meant(*n, at)).collect())
            })
            .filter(|(_, targets): &(usize, Vec<_>)| !targets.is_empty())
            .collect();
        let asking =
            asked.iter().map(|(at, targets)| seek(&self.roster.accounts[*at], ask, targets));
        // An answer concerns its own account: the others are not looked at again for it.
        let sightings: Vec<Sighting> = asking.collect::<FuturesOrdered<_>>().collect().await;
        for ((at, _), sighting) in asked.iter().zip(sightings) {
            for (_, targets) in &sighting.seen {
                for n in targets {
                    self.holders[*n].push(*at);
                }
            }
            self.unsure.extend(&sighting.unsure);
            let kept = &mut self.sightings[*at];
            kept.seen.extend(sighting.seen);
            sighting.failures.into_iter().for_each(|failure| kept.failures.add(failure));
        }
    }

    /// Has what was learnt be remembered. A carrier is, when every account was asked and answered.
    fn teach(&self, platforms: &Platforms, is_complete: impl Fn(usize) -> bool) {
        for (n, identifier) in self.wanted.identifiers.iter().enumerate() {
            if is_complete(n) && !self.unsure.contains(&n) && !self.holders[n].is_empty() {
                platforms.memory.learn_carriers(&self.roster, identifier, &self.holders[n]);
            }
        }
        for (at, sighting) in self.sightings.iter().enumerate() {
            let local_ids = sighting.seen.iter().map(|(it, _)| it.local_id.as_str());
            platforms.memory.learn_products(&self.roster, at, local_ids);
        }
    }

    fn finish(self) -> Finding {
        let is_missing = |n: usize| self.holders[n].is_empty() && !self.unsure.contains(&n);
        let first_id = self.wanted.identifiers.len();
        let missing = Wanted {
            identifiers: (0..first_id)
                .filter(|n| is_missing(*n))
                .map(|n| self.wanted.identifiers[n].clone())
                .collect(),
            ids: (0..self.wanted.ids.len())
                .filter(|n| is_missing(first_id + n))
                .map(|n| self.wanted.ids[n].clone())
                .collect(),
        };
        let mut finding = Finding { missing, ..Finding::default() };
        let mut known = HashSet::new();
        for (account, sighting) in self.roster.accounts.iter().zip(self.sightings) {
            let account = account.account();
            for (connection, _) in sighting.seen {
                let product = Product { account: Arc::clone(account), connection };
                // Two accounts at one platform may show the same product.
                if known.insert(product.id()) {
                    finding.products.push(product);
                }
            }
            let trouble = |failure| AccountTrouble { account: Arc::clone(account), failure };
            finding.troubles.extend(sighting.failures.into_iter().map(trouble));
        }
        finding
    }
}
