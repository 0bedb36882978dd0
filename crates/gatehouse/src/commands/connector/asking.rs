//! Asks one account as the server would, and keeps what came of it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gatehouse_connectors::testing::recording::Recording;
use gatehouse_connectors::{
    AccountSetup, AddressRules, CallContext, Exchange, Failure, FindRequest, Manifests, Observer,
    PlatformOptions, Platforms, ProductParts, ReplayPlatform,
};
use gatehouse_core::account::AddressSource;
use gatehouse_core::filter::Expression;
use gatehouse_core::filter::product::{ProductFilter, VOCABULARY};
use gatehouse_core::{ConnectorName, PageRequest, Product};
use tokio::time::Instant;

use super::account::{AccountArgs, GivenAccount};

/// How long an account is asked.
const DEADLINE: Duration = Duration::from_secs(60);

/// What an account is asked for.
pub(in crate::commands::connector) enum Question {
    /// For a page of all there is.
    Page(PageRequest),
    /// For what is called so, by the platform and by what it carries; the platform's name is put in.
    Find { wanted: FindRequest, local_ids: Vec<String> },
}

/// What came of it.
pub(in crate::commands::connector) struct Outcome {
    pub(in crate::commands::connector) n_calls: usize,
    pub(in crate::commands::connector) products: Vec<Product>,
    pub(in crate::commands::connector) failures: Vec<Failure>,
    /// What the account surely doesn't have, in words.
    pub(in crate::commands::connector) missing: Vec<String>,
}

/// Counts calls, and lets someone look on.
struct Counting<W> {
    n_calls: AtomicUsize,
    shown: W,
}

impl<W: Fn(usize, &Exchange<'_>) + Send + Sync> Observer for Counting<W> {
    fn observe(&self, exchange: &Exchange<'_>) {
        let n = self.n_calls.fetch_add(1, Ordering::Relaxed) + 1;
        (self.shown)(n, exchange);
    }
}

/// Who is asked.
pub(in crate::commands::connector) enum Whom<'a> {
    /// An account at a platform.
    Account(&'a AccountArgs),
    /// A stand-in for the platform, made of a recording.
    Recording(&'a Path),
}

/// Asks, and shows each call, by its number, to who looks on.
pub(in crate::commands::connector) fn ask(
    manifests: Manifests,
    connector: &ConnectorName,
    whom: &Whom<'_>,
    question: Question,
    parts: ProductParts,
    shown: impl Fn(usize, &Exchange<'_>) + Send + Sync + 'static,
) -> Result<Outcome, String> {
    let manifest = manifests.get(connector.as_str()).map(Arc::clone);
    let allow_insecure_urls = match whom {
        Whom::Account(args) => args.allow_insecure_urls,
        Whom::Recording(_) => false,
    };
    let addresses = AddressRules::for_local_user(allow_insecure_urls);
    let options = PlatformOptions { addresses, manifests, ..PlatformOptions::default() };
    let witness = Arc::new(Counting { n_calls: AtomicUsize::new(0), shown });
    let platforms = Platforms::with_observer(options, Arc::clone(&witness) as Arc<dyn Observer>);
    let platforms = platforms.map_err(|why| why.to_string())?;
    let runtime = super::runtime()?;
    // It answers as long as it is there.
    let (_stand_in, given) = match whom {
        Whom::Account(args) => (None, args.read(platforms.catalog(), connector)?),
        Whom::Recording(path) => {
            let manifest = manifest.ok_or("what is built in has no recordings")?;
            let recording = Recording::load(path)?;
            let stand_in = runtime.block_on(ReplayPlatform::start(manifest, &recording))?;
            let given = GivenAccount::of_stand_in(connector, &stand_in)?;
            (Some(stand_in), given)
        }
    };
    let platform = given.account.platform.clone();
    let mut outcome = runtime
        .block_on(async {
            let reached = AccountSetup {
                settings: &given.settings,
                credentials: &given.credentials,
                address_source: AddressSource::Operator,
            };
            let account = platforms.open(&given.tenant, given.account, 1, reached);
            let ask = CallContext { deadline: Instant::now() + DEADLINE, parts };
            match question {
                Question::Page(page) => {
                    let filter = ProductFilter::read(&Expression::parse("", &VOCABULARY));
                    let filter = filter.map_err(|_| "nothing can be asked for")?;
                    let listing = platforms.list(&[account], &filter, page, ask).await;
                    let failures = listing.troubles.into_iter().map(|it| it.failure).collect();
                    let products = listing.products;
                    Ok(Outcome { n_calls: 0, products, failures, missing: Vec::new() })
                }
                Question::Find { mut wanted, local_ids } => {
                    let id = |local_id| gatehouse_core::ProductId {
                        platform: platform.clone(),
                        local_id,
                    };
                    wanted.ids = local_ids.into_iter().map(id).collect();
                    let finding = platforms.find(&[account], &wanted, ask).await;
                    let failures = finding.troubles.into_iter().map(|it| it.failure).collect();
                    let missing = finding.missing;
                    let numbers = missing.identifiers.iter().map(ToString::to_string);
                    let ids = missing.ids.iter().map(|it| format!("ID {}", it.local_id));
                    let missing = numbers.chain(ids).collect();
                    Ok(Outcome { n_calls: 0, products: finding.products, failures, missing })
                }
            }
        })
        .map_err(|why: &str| why.to_owned())?;
    outcome.n_calls = witness.n_calls.load(Ordering::Relaxed);
    Ok(outcome)
}

impl Outcome {
    /// What came of it, in numbers.
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
