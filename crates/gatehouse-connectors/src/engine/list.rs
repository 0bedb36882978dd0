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
use crate::engine::live::LiveAccount;
use crate::engine::platforms::{AccountFailure, Listing, Platforms};
use crate::engine::seek::{Target, seek};
use crate::engine::window::{Got, window};

impl Platforms {
    /// One page over all matching accounts, each with its share. `accounts` are in order.
    pub fn list<'a>(
        &'a self,
        accounts: &'a [Arc<LiveAccount>],
        filter: &'a ProductFilter,
        page: PageRequest,
        ask: CallContext,
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
            let asking = matching
                .iter()
                .map(|((_, account), scope)| ask_one(account, scope, filter, part, ask));
            // `FuturesOrdered` polls only the future that is ready, not all of them.
            let answers: Vec<Got> = asking.collect::<FuturesOrdered<_>>().collect().await;

            let roster = self.memory.roster(accounts);
            let mut listing = Listing {
                too_many_accounts: share.is_small.then_some(matching.len()),
                ..Listing::default()
            };
            // If two accounts show the same product, memory keeps the first in order.
            for (((n, _), _), got) in matching.iter().zip(&answers).rev() {
                let local_ids = got.connections.iter().map(|it| it.local_id.as_str());
                self.memory.learn_products(&roster, *n, local_ids);
            }
            for (((_, account), _), got) in matching.iter().zip(answers) {
                let account = account.account();
                let product = |connection| Product { account: Arc::clone(account), connection };
                listing.products.extend(got.connections.into_iter().map(product));
                let trouble = |failure| AccountFailure { account: Arc::clone(account), failure };
                listing.troubles.extend(got.failures.into_iter().map(trouble));
            }
            listing.products.truncate(usize::try_from(page.size).unwrap_or(usize::MAX));
            listing
        })
    }
}

/// Reads one account's share of the page.
async fn ask_one(
    account: &Arc<LiveAccount>,
    scope: &Scope<'_>,
    filter: &ProductFilter,
    part: Window,
    ask: CallContext,
) -> Got {
    let passes =
        |connection: &Arc<gatehouse_core::Connection>| filter.passes(account.account(), connection);
    match scope {
        Scope::Nothing => Got::default(),
        Scope::Everything => completed(account, ask, window(account, ask, part).await).await,
        Scope::Whatever => {
            // The platform can't filter by properties, so its page gets shorter.
            let ask = ask.and_for(ProductParts::PROPERTIES);
            let mut got = completed(account, ask, window(account, ask, part).await).await;
            got.connections.retain(passes);
            got
        }
        Scope::Carriers(identifiers) => {
            let targets: Vec<_> =
                identifiers.iter().map(|it| Target::Carrier(it)).enumerate().collect();
            let sighting = seek(account, ask, &targets).await;
            let hits = sighting.seen.into_iter().map(|(connection, _)| connection).filter(passes);
            Got { connections: part.slice(hits).collect(), failures: sighting.failures }
        }
    }
}

/// Adds the parts that pages leave out.
async fn completed(account: &LiveAccount, ask: CallContext, mut got: Got) -> Got {
    let DetailedConnections { connections, failures } =
        account.complete(ask, got.connections).await;
    got.connections = connections;
    failures.into_iter().for_each(|failure| got.fail(failure));
    got
}
