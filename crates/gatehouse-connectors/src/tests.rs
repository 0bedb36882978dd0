//! The engine against fake platforms, whose connections are known.

mod detail;
mod fake;
mod find;
mod list;
mod model;
mod simulated;
mod simulator_manifest;
mod walk;

use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::filter::Expression;
use gatehouse_core::filter::product::{FILTER_FIELDS, ProductFilter};
use gatehouse_core::{Account, PageRequest};
use tokio::time::Instant;

use crate::engine::latency::Latency;
use crate::{CallContext, Listing, LiveAccount, PlatformOptions, Platforms};
use fake::Fake;

/// Options that allow platforms on this machine.
fn options() -> PlatformOptions {
    PlatformOptions { addresses: crate::client::tests::here(), ..PlatformOptions::default() }
}

fn platforms() -> Platforms {
    Platforms::new(options()).unwrap()
}

/// The full time of a request.
fn context() -> CallContext {
    CallContext::until(Instant::now() + Duration::from_secs(10))
}

/// An account at a fake platform.
fn account(platform: &str, name: &str, fake: &Arc<Fake>) -> Arc<LiveAccount> {
    let account = Account {
        platform: platform.parse().unwrap(),
        name: name.parse().unwrap(),
        connector: "fake".parse().unwrap(),
        platform_account: "1".parse().unwrap(),
    };
    let connector = Box::new(Arc::clone(fake));
    let (tenant, account) = ("acme".parse().unwrap(), Arc::new(account));
    Arc::new(LiveAccount::new(tenant, account, 1, Ok(connector), Latency::default()))
}

fn filter(query: &str) -> ProductFilter {
    ProductFilter::read(&Expression::parse(query, &FILTER_FIELDS)).unwrap()
}

/// One page, by the filter in a query.
async fn list(accounts: &[Arc<LiveAccount>], query: &str, number: u64, size: u64) -> Listing {
    let page = PageRequest { number, size };
    platforms().list(accounts, &filter(query), page, context()).await
}

/// Ids of a listing, by account.
fn names(listing: &Listing) -> Vec<String> {
    let name =
        |it: &gatehouse_core::Product| format!("{}/{}", it.account.name, it.connection.local_id);
    listing.products.iter().map(name).collect()
}
