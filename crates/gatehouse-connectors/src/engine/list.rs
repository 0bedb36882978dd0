//! One page over many accounts: all are asked at once, each for its share.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesOrdered;
use gatehouse_core::filter::product::{ProductFilter, Scope};
use gatehouse_core::page;
use gatehouse_core::page::window::Window;
use gatehouse_core::{PageRequest, Product};

use crate::connector::{CallContext, DetailedConnections, ProductParts};
use crate::engine::account_search::{SearchTarget, search_account};
use crate::engine::live::LiveAccount;
use crate::engine::platforms::{AccountFailure, Listing, Platforms};
use crate::engine::window::{Fetched, window};

impl Platforms {
    /// One page over all matching accounts, each with its share. `accounts` are in order.
    pub fn list<'a>(
        &'a self,
        accounts: &'a [Arc<LiveAccount>],
        filter: &'a ProductFilter,
        page: PageRequest,
        context: CallContext,
    ) -> BoxFuture<'a, Listing> {
        Box::pin(async move {
            let scopes = accounts.iter().map(|account| filter.scope(account.account()));
            let matching: Vec<_> = accounts
                .iter()
                .enumerate()
                .zip(scopes)
                .filter(|(_, scope)| *scope != Scope::Nothing)
                .collect();
            let share = page::share(page.size, matching.len() as u64);
            let part = Window::of(PageRequest { number: page.number, size: share.size });
            let calls = matching
                .iter()
                .map(|((_, account), scope)| list_account(account, scope, filter, part, context));
            // `FuturesOrdered` polls only the future that is ready, not all of them.
            let results: Vec<Fetched> = calls.collect::<FuturesOrdered<_>>().collect().await;

            let account_set = self.holder_cache.account_set(accounts);
            let mut listing = Listing {
                too_many_accounts: share.is_small.then_some(matching.len()),
                ..Listing::default()
            };
            // If two accounts show the same product, the cache keeps the first in order.
            for (((n, _), _), fetched) in matching.iter().zip(&results).rev() {
                let local_ids = fetched.connections.iter().map(|it| it.local_id.as_str());
                self.holder_cache.store_products(&account_set, *n, local_ids);
            }
            for (((_, account), _), fetched) in matching.iter().zip(results) {
                let account = account.account();
                let product = |connection| Product { account: Arc::clone(account), connection };
                listing.products.extend(fetched.connections.into_iter().map(product));
                let account_failure =
                    |failure| AccountFailure { account: Arc::clone(account), failure };
                listing.failures.extend(fetched.failures.into_iter().map(account_failure));
            }
            listing.products.truncate(usize::try_from(page.size).unwrap_or(usize::MAX));
            listing
        })
    }
}

/// Reads one account's share of the page.
async fn list_account(
    account: &Arc<LiveAccount>,
    scope: &Scope<'_>,
    filter: &ProductFilter,
    part: Window,
    context: CallContext,
) -> Fetched {
    let passes =
        |connection: &Arc<gatehouse_core::Connection>| filter.passes(account.account(), connection);
    match scope {
        Scope::Nothing => Fetched::default(),
        Scope::Everything => {
            with_details(account, context, window(account, context, part).await).await
        }
        Scope::Whatever => {
            // The platform can't filter by properties, so its page gets shorter.
            let context = context.and_for(ProductParts::PROPERTIES);
            let mut fetched =
                with_details(account, context, window(account, context, part).await).await;
            fetched.connections.retain(passes);
            fetched
        }
        Scope::Carriers(identifiers) => {
            let targets: Vec<_> =
                identifiers.iter().map(|it| SearchTarget::Identifier(it)).enumerate().collect();
            let result = search_account(account, context, &targets).await;
            let hits = result.matches.into_iter().map(|(connection, _)| connection).filter(passes);
            Fetched { connections: part.slice(hits).collect(), failures: result.failures }
        }
    }
}

/// Adds the parts that pages leave out.
async fn with_details(
    account: &LiveAccount,
    context: CallContext,
    mut fetched: Fetched,
) -> Fetched {
    let DetailedConnections { connections, failures } =
        account.complete(context, fetched.connections).await;
    fetched.connections = connections;
    failures.into_iter().for_each(|failure| fetched.fail(failure));
    fetched
}
