//! Queries one account as the server would, and returns the results.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gatehouse_connectors::testing::recording::Recording;
use gatehouse_connectors::{
    AccountSetup, AddressRules, CallContext, Exchange, Failure, FindRequest, Manifest, Manifests,
    Observer, PlatformOptions, Platforms, ProductParts, ReplayPlatform,
};
use gatehouse_core::account::AddressSource;
use gatehouse_core::filter::Expression;
use gatehouse_core::filter::product::{FILTER_FIELDS, ProductFilter};
use gatehouse_core::{PageRequest, Product};
use tokio::time::Instant;

use super::account::{AccountArgs, QueriedAccount};
use crate::runtime;

const DEADLINE: Duration = Duration::from_secs(60);

/// A query to an account.
pub(in crate::commands::connector) enum Query {
    /// A page of the account's list.
    Page(PageRequest),
    /// Products by identifier, and by the platform's own IDs.
    Find { wanted: FindRequest, local_ids: Vec<String> },
}

/// Results of a query.
pub(in crate::commands::connector) struct Outcome {
    pub(in crate::commands::connector) n_calls: usize,
    pub(in crate::commands::connector) products: Vec<Product>,
    pub(in crate::commands::connector) failures: Vec<Failure>,
    /// Descriptions of what the account doesn't have.
    pub(in crate::commands::connector) missing: Vec<String>,
}

/// Counts calls, and passes each to a callback.
struct CallCounter<W> {
    n_calls: AtomicUsize,
    shown: W,
}

impl<W: Fn(usize, &Exchange<'_>) + Send + Sync> Observer for CallCounter<W> {
    fn observe(&self, exchange: &Exchange<'_>) {
        let n = self.n_calls.fetch_add(1, Ordering::Relaxed) + 1;
        (self.shown)(n, exchange);
    }
}

/// Where a query goes.
pub(in crate::commands::connector) enum QueryTarget<'a> {
    /// An account at a platform.
    Account(&'a AccountArgs),
    /// A replay platform, made from a recording.
    Recording(&'a Path),
}

/// Runs a query, and passes each call and its number to `shown`.
pub(in crate::commands::connector) fn run_query(
    manifests: Manifests,
    manifest: &Arc<Manifest>,
    target: &QueryTarget<'_>,
    query: Query,
    parts: ProductParts,
    shown: impl Fn(usize, &Exchange<'_>) + Send + Sync + 'static,
) -> Result<Outcome, String> {
    let connector = manifest.name();
    let allow_insecure_urls = match target {
        QueryTarget::Account(args) => args.allow_insecure_urls,
        QueryTarget::Recording(_) => false,
    };
    let addresses = AddressRules::for_local_user(allow_insecure_urls);
    let options = PlatformOptions { addresses, manifests, ..PlatformOptions::default() };
    let observer = Arc::new(CallCounter { n_calls: AtomicUsize::new(0), shown });
    let platforms = Platforms::with_observer(options, Arc::clone(&observer) as Arc<dyn Observer>);
    let platforms = platforms.map_err(|why| why.to_string())?;
    let runtime = runtime::single_threaded()?;
    // The replay platform responds until it is dropped.
    let (_replay, given) = match target {
        QueryTarget::Account(args) => (None, args.read(platforms.catalog(), connector)?),
        QueryTarget::Recording(path) => {
            let recording = Recording::load(path)?;
            let starting = ReplayPlatform::start(Arc::clone(manifest), &recording);
            let replay = runtime.block_on(starting);
            let replay = replay.map_err(|why| format!("the platform can't be replayed: {why}"))?;
            let given = QueriedAccount::of_replay(connector, &replay)?;
            (Some(replay), given)
        }
    };
    let platform = given.account.platform.clone();
    let mut outcome = runtime
        .block_on(async {
            let setup = AccountSetup {
                settings: &given.settings,
                credentials: &given.credentials,
                address_source: AddressSource::Operator,
            };
            let account = platforms.open(&given.tenant, given.account, 1, setup);
            let context = CallContext { deadline: Instant::now() + DEADLINE, parts };
            match query {
                Query::Page(page) => {
                    let filter = ProductFilter::read(&Expression::parse("", &FILTER_FIELDS));
                    let filter = filter.map_err(|_| "the empty filter is invalid")?;
                    let listing = platforms.list(&[account], &filter, page, context).await;
                    let failures = listing.failures.into_iter().map(|it| it.failure).collect();
                    let products = listing.products;
                    Ok(Outcome { n_calls: 0, products, failures, missing: Vec::new() })
                }
                Query::Find { mut wanted, local_ids } => {
                    let id = |local_id| gatehouse_core::ProductId {
                        platform: platform.clone(),
                        local_id,
                    };
                    wanted.ids = local_ids.into_iter().map(id).collect();
                    let found = platforms.find(&[account], &wanted, context).await;
                    let failures = found.failures.into_iter().map(|it| it.failure).collect();
                    let missing = found.missing;
                    let numbers = missing.identifiers.iter().map(ToString::to_string);
                    let ids = missing.ids.iter().map(|it| format!("ID {}", it.local_id));
                    let missing = numbers.chain(ids).collect();
                    Ok(Outcome { n_calls: 0, products: found.products, failures, missing })
                }
            }
        })
        .map_err(|why: &str| why.to_owned())?;
    outcome.n_calls = observer.n_calls.load(Ordering::Relaxed);
    Ok(outcome)
}

impl Outcome {
    /// The counts on one line.
    pub(in crate::commands::connector) fn summary(&self) -> String {
        use super::counted;
        let missing = match self.missing.len() {
            0 => String::new(),
            n => format!(", {n} not found"),
        };
        let failures = match self.failures.len() {
            0 => "no failure".to_owned(),
            n => counted(n, "failure"),
        };
        let (calls, products) =
            (counted(self.n_calls, "call"), counted(self.products.len(), "product"));
        format!("{calls}, {products}{missing}, {failures}")
    }
}
