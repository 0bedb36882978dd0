//! Searches for many products over all accounts, first in those that had them last.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use gatehouse_core::{Product, ProductId};
use tokio::time::{Instant, sleep_until};

use crate::connector::CallContext;
use crate::engine::account_search::{AccountMatches, SearchTarget, search_account};
use crate::engine::holder_cache::AccountSet;
use crate::engine::live::LiveAccount;
use crate::engine::platforms::{AccountFailure, FindRequest, FindResult, Platforms, ReadResult};

impl Platforms {
    /// Finds many products at once. `accounts` are all that may have them, in order.
    pub fn find<'a>(
        &'a self,
        accounts: &'a [Arc<LiveAccount>],
        request: &'a FindRequest,
        context: CallContext,
    ) -> BoxFuture<'a, FindResult> {
        Box::pin(async move {
            let account_set = self.holder_cache.account_set(accounts);
            let search = Search::new(request, &account_set);
            let hints = search.last_holders(self);
            let is_hint =
                |n: usize, at: usize| hints[n].as_ref().is_none_or(|hint| hint.contains(&at));
            let mut state = FindState::new(&search);
            let first = search.plan(is_hint).into_iter();
            let mut searches: FuturesUnordered<_> =
                first.map(|it| search.run(context, it)).collect();
            // A product may have moved to any other account. A slow account must not delay asking the others.
            let hint_timeout =
                sleep_until(Instant::now() + context.deadline.duration_since(Instant::now()) / 10);
            tokio::pin!(hint_timeout);
            loop {
                tokio::select! {
                    biased;
                    Some((at, result)) = searches.next(), if !searches.is_empty() => state.add(at, result),
                    () = &mut hint_timeout, if !searches.is_empty() => break,
                    else => break,
                }
            }
            let lost: Vec<bool> = hints
                .iter()
                .zip(&state.holders)
                .map(|(hint, holders)| hint.is_some() && holders.is_empty())
                .collect();
            let others = search.plan(|n, at| lost[n] && !is_hint(n, at)).into_iter();
            searches.extend(others.map(|it| search.run(context, it)));
            while let Some((at, result)) = searches.next().await {
                state.add(at, result);
            }
            let is_complete = |n: usize| hints[n].is_none() || lost[n];
            state.fill_cache(self, &search, is_complete);
            state.finish(&search)
        })
    }

    /// Finds one product. `accounts` are all that may have it, in order.
    pub async fn read(
        &self,
        accounts: &[Arc<LiveAccount>],
        id: &ProductId,
        context: CallContext,
    ) -> ReadResult {
        let request = FindRequest { identifiers: Vec::new(), ids: vec![id.clone()] };
        let FindResult { products, failures, .. } = self.find(accounts, &request, context).await;
        ReadResult { product: products.into_iter().next(), failures }
    }
}

/// Search targets, and the accounts to search.
struct Search<'w> {
    request: &'w FindRequest,
    account_set: &'w AccountSet<'w>,
    targets: Vec<SearchTarget<'w>>,
}

impl<'w> Search<'w> {
    fn new(request: &'w FindRequest, account_set: &'w AccountSet<'w>) -> Self {
        let carriers = request.identifiers.iter().map(SearchTarget::Identifier);
        let named = request.ids.iter().map(|id| SearchTarget::Id(&id.local_id));
        Self { request, account_set, targets: carriers.chain(named).collect() }
    }

    /// Product id of a target, if the target is one.
    fn id(&self, n: usize) -> Option<&'w ProductId> {
        n.checked_sub(self.request.identifiers.len()).map(|n| &self.request.ids[n])
    }

    /// Accounts that had each target last.
    fn last_holders(&self, platforms: &Platforms) -> Vec<Option<Vec<usize>>> {
        let last_holders = |n: usize| match (self.id(n), self.request.identifiers.get(n)) {
            (Some(id), _) => platforms.holder_cache.holders(self.account_set, id),
            (None, Some(identifier)) => {
                platforms.holder_cache.carriers(self.account_set, identifier)
            }
            (None, None) => None,
        };
        (0..self.targets.len()).map(last_holders).collect()
    }

    /// Targets per account: those that `is_meant` selects and that the account's platform may have.
    fn plan(
        &self,
        is_meant: impl Fn(usize, usize) -> bool,
    ) -> Vec<(usize, Vec<(usize, SearchTarget<'w>)>)> {
        let could_have = |n: usize, account: &LiveAccount| {
            self.id(n).is_none_or(|id| id.platform == account.account().platform)
        };
        let plan = self.account_set.accounts.iter().enumerate().map(|(at, account)| {
            let targets = self.targets.iter().copied().enumerate();
            (at, targets.filter(|(n, _)| could_have(*n, account) && is_meant(*n, at)).collect())
        });
        plan.filter(|(_, targets): &(usize, Vec<_>)| !targets.is_empty()).collect()
    }

    async fn run(
        &self,
        context: CallContext,
        (at, targets): (usize, Vec<(usize, SearchTarget<'w>)>),
    ) -> (usize, AccountMatches) {
        (at, search_account(&self.account_set.accounts[at], context, &targets).await)
    }
}

struct FindState {
    results: Vec<AccountMatches>,
    /// Accounts that have the target, per target.
    holders: Vec<Vec<usize>>,
    /// Targets that an account could neither confirm nor deny.
    unsure: HashSet<usize>,
}

impl FindState {
    fn new(search: &Search<'_>) -> Self {
        Self {
            results: search
                .account_set
                .accounts
                .iter()
                .map(|_| AccountMatches::default())
                .collect(),
            holders: vec![Vec::new(); search.targets.len()],
            unsure: HashSet::new(),
        }
    }

    fn add(&mut self, at: usize, result: AccountMatches) {
        for (_, targets) in &result.matches {
            for n in targets {
                self.holders[*n].push(at);
            }
        }
        self.unsure.extend(&result.unsure);
        let all = &mut self.results[at];
        all.matches.extend(result.matches);
        result.failures.into_iter().for_each(|failure| all.failures.add(failure));
    }

    /// Stores the results in the holder cache; holders of an identifier only if every account answered.
    fn fill_cache(
        &self,
        platforms: &Platforms,
        search: &Search<'_>,
        is_complete: impl Fn(usize) -> bool,
    ) {
        for (n, identifier) in search.request.identifiers.iter().enumerate() {
            if is_complete(n) && !self.unsure.contains(&n) && !self.holders[n].is_empty() {
                platforms.holder_cache.store_carriers(
                    search.account_set,
                    identifier,
                    &self.holders[n],
                );
            }
        }
        // If two accounts show the same product, the cache keeps the first in order.
        for (at, result) in self.results.iter().enumerate().rev() {
            let local_ids = result.matches.iter().map(|(it, _)| it.local_id.as_str());
            platforms.holder_cache.store_products(search.account_set, at, local_ids);
        }
    }

    fn finish(self, search: &Search<'_>) -> FindResult {
        let is_missing = |n: usize| self.holders[n].is_empty() && !self.unsure.contains(&n);
        let (identifiers, ids) = (&search.request.identifiers, &search.request.ids);
        let numbered = identifiers.iter().enumerate().filter(|(n, _)| is_missing(*n));
        let named = ids.iter().enumerate().filter(|(n, _)| is_missing(identifiers.len() + n));
        let missing = FindRequest {
            identifiers: numbered.map(|(_, it)| it.clone()).collect(),
            ids: named.map(|(_, it)| it.clone()).collect(),
        };
        let mut found = FindResult { missing, ..FindResult::default() };
        let mut seen_ids = HashSet::new();
        for (account, result) in search.account_set.accounts.iter().zip(self.results) {
            let account = account.account();
            for (connection, _) in result.matches {
                let product = Product { account: Arc::clone(account), connection };
                // Two accounts at one platform may show the same product.
                if seen_ids.insert(product.id()) {
                    found.products.push(product);
                }
            }
            let account_failure =
                |failure| AccountFailure { account: Arc::clone(account), failure };
            found.failures.extend(result.failures.into_iter().map(account_failure));
        }
        found
    }
}
