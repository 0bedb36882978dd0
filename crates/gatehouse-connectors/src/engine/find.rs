//! Searches for many products over all accounts, first in those that had them last.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use gatehouse_core::{Product, ProductId};
use tokio::time::{Instant, sleep_until};

use crate::connector::CallContext;
use crate::engine::live::LiveAccount;
use crate::engine::memory::Roster;
use crate::engine::platforms::{AccountFailure, FindRequest, FindResult, Platforms, ReadResult};
use crate::engine::seek::{Sighting, Target, seek};

impl Platforms {
    /// Finds many products at once. `accounts` are all that may have them, in order.
    pub fn find<'a>(
        &'a self,
        accounts: &'a [Arc<LiveAccount>],
        wanted: &'a FindRequest,
        ask: CallContext,
    ) -> BoxFuture<'a, FindResult> {
        Box::pin(async move {
            let roster = self.memory.roster(accounts);
            let search = Search::new(wanted, &roster);
            let hints = search.recall(self);
            let is_hint =
                |n: usize, at: usize| hints[n].as_ref().is_none_or(|hint| hint.contains(&at));
            let mut found = Found::new(&search);
            let first = search.plan(is_hint).into_iter();
            let mut asking: FuturesUnordered<_> = first.map(|it| search.ask(ask, it)).collect();
            // A product may have moved to any other account. A slow account must not delay asking the others.
            let patience =
                sleep_until(Instant::now() + ask.deadline.duration_since(Instant::now()) / 10);
            tokio::pin!(patience);
            loop {
                tokio::select! {
                    biased;
                    Some((at, sighting)) = asking.next(), if !asking.is_empty() => found.take(at, sighting),
                    () = &mut patience, if !asking.is_empty() => break,
                    else => break,
                }
            }
            let lost: Vec<bool> = hints
                .iter()
                .zip(&found.holders)
                .map(|(hint, holders)| hint.is_some() && holders.is_empty())
                .collect();
            let others = search.plan(|n, at| lost[n] && !is_hint(n, at)).into_iter();
            asking.extend(others.map(|it| search.ask(ask, it)));
            while let Some((at, sighting)) = asking.next().await {
                found.take(at, sighting);
            }
            let is_complete = |n: usize| hints[n].is_none() || lost[n];
            found.teach(self, &search, is_complete);
            found.finish(&search)
        })
    }

    /// Finds one product. `accounts` are all that may have it, in order.
    pub async fn read(
        &self,
        accounts: &[Arc<LiveAccount>],
        id: &ProductId,
        ask: CallContext,
    ) -> ReadResult {
        let wanted = FindRequest { identifiers: Vec::new(), ids: vec![id.clone()] };
        let FindResult { products, troubles, .. } = self.find(accounts, &wanted, ask).await;
        ReadResult { product: products.into_iter().next(), troubles }
    }
}

/// Search targets, and the accounts to search.
struct Search<'w> {
    wanted: &'w FindRequest,
    roster: &'w Roster<'w>,
    targets: Vec<Target<'w>>,
}

impl<'w> Search<'w> {
    fn new(wanted: &'w FindRequest, roster: &'w Roster<'w>) -> Self {
        let carriers = wanted.identifiers.iter().map(Target::Carrier);
        let named = wanted.ids.iter().map(|id| Target::Named(&id.local_id));
        Self { wanted, roster, targets: carriers.chain(named).collect() }
    }

    /// Product id of a target, if the target is one.
    fn id(&self, n: usize) -> Option<&'w ProductId> {
        n.checked_sub(self.wanted.identifiers.len()).map(|n| &self.wanted.ids[n])
    }

    /// Accounts that had each target last.
    fn recall(&self, platforms: &Platforms) -> Vec<Option<Vec<usize>>> {
        let recall = |n: usize| match (self.id(n), self.wanted.identifiers.get(n)) {
            (Some(id), _) => platforms.memory.holders(self.roster, id),
            (None, Some(identifier)) => platforms.memory.carriers(self.roster, identifier),
            (None, None) => None,
        };
        (0..self.targets.len()).map(recall).collect()
    }

    /// Targets per account: those that `is_meant` selects and that the account's platform may have.
    fn plan(
        &self,
        is_meant: impl Fn(usize, usize) -> bool,
    ) -> Vec<(usize, Vec<(usize, Target<'w>)>)> {
        let could_have = |n: usize, account: &LiveAccount| {
            self.id(n).is_none_or(|id| id.platform == account.account().platform)
        };
        let plan = self.roster.accounts.iter().enumerate().map(|(at, account)| {
            let targets = self.targets.iter().copied().enumerate();
            (at, targets.filter(|(n, _)| could_have(*n, account) && is_meant(*n, at)).collect())
        });
        plan.filter(|(_, targets): &(usize, Vec<_>)| !targets.is_empty()).collect()
    }

    /// Searches one account for its targets.
    async fn ask(
        &self,
        ask: CallContext,
        (at, targets): (usize, Vec<(usize, Target<'w>)>),
    ) -> (usize, Sighting) {
        (at, seek(&self.roster.accounts[at], ask, &targets).await)
    }
}

/// Results so far.
struct Found {
    /// Results per account.
    sightings: Vec<Sighting>,
    /// Accounts that have the target, per target.
    holders: Vec<Vec<usize>>,
    /// Targets that an account could neither confirm nor deny.
    unsure: HashSet<usize>,
}

impl Found {
    fn new(search: &Search<'_>) -> Self {
        Self {
            sightings: search.roster.accounts.iter().map(|_| Sighting::default()).collect(),
            holders: vec![Vec::new(); search.targets.len()],
            unsure: HashSet::new(),
        }
    }

    fn take(&mut self, at: usize, sighting: Sighting) {
        for (_, targets) in &sighting.seen {
            for n in targets {
                self.holders[*n].push(at);
            }
        }
        self.unsure.extend(&sighting.unsure);
        let kept = &mut self.sightings[at];
        kept.seen.extend(sighting.seen);
        sighting.failures.into_iter().for_each(|failure| kept.failures.add(failure));
    }

    /// Stores the results in memory; holders of an identifier only if every account answered.
    fn teach(
        &self,
        platforms: &Platforms,
        search: &Search<'_>,
        is_complete: impl Fn(usize) -> bool,
    ) {
        for (n, identifier) in search.wanted.identifiers.iter().enumerate() {
            if is_complete(n) && !self.unsure.contains(&n) && !self.holders[n].is_empty() {
                platforms.memory.learn_carriers(search.roster, identifier, &self.holders[n]);
            }
        }
        // If two accounts show the same product, memory keeps the first in order.
        for (at, sighting) in self.sightings.iter().enumerate().rev() {
            let local_ids = sighting.seen.iter().map(|(it, _)| it.local_id.as_str());
            platforms.memory.learn_products(search.roster, at, local_ids);
        }
    }

    fn finish(self, search: &Search<'_>) -> FindResult {
        let is_missing = |n: usize| self.holders[n].is_empty() && !self.unsure.contains(&n);
        let (identifiers, ids) = (&search.wanted.identifiers, &search.wanted.ids);
        let numbered = identifiers.iter().enumerate().filter(|(n, _)| is_missing(*n));
        let named = ids.iter().enumerate().filter(|(n, _)| is_missing(identifiers.len() + n));
        let missing = FindRequest {
            identifiers: numbered.map(|(_, it)| it.clone()).collect(),
            ids: named.map(|(_, it)| it.clone()).collect(),
        };
        let mut finding = FindResult { missing, ..FindResult::default() };
        let mut known = HashSet::new();
        for (account, sighting) in search.roster.accounts.iter().zip(self.sightings) {
            let account = account.account();
            for (connection, _) in sighting.seen {
                let product = Product { account: Arc::clone(account), connection };
                // Two accounts at one platform may show the same product.
                if known.insert(product.id()) {
                    finding.products.push(product);
                }
            }
            let trouble = |failure| AccountFailure { account: Arc::clone(account), failure };
            finding.troubles.extend(sighting.failures.into_iter().map(trouble));
        }
        finding
    }
}
