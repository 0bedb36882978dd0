//! The engine around a single account, to record, replay or test a manifest.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::account::{AddressSource, Credentials};
use gatehouse_core::filter::Expression;
use gatehouse_core::filter::product::{FILTER_FIELDS, ProductFilter};
use gatehouse_core::{Account, Connection, Identifier, PageRequest, ProductId, TenantName};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::account_settings::{AccountSetup, Settings};
use crate::client::{AddressRules, Exchange, Observer};
use crate::connector::{CallContext, CallKind, LookUpKey, ProductParts};
use crate::engine::live::LiveAccount;
use crate::engine::platforms::{FindRequest, PlatformOptions, Platforms};
use crate::failure::Failure;
use crate::manifest::Manifest;
use crate::manifests::Manifests;

/// Name of the account's platform.
const PLATFORM: &str = "PLATFORM";

/// An account and its engine.
pub(crate) struct OneAccount {
    platforms: Platforms,
    accounts: [Arc<LiveAccount>; 1],
    calls: Arc<Calls>,
    time_limit: Duration,
}

/// Settings and credentials of an account.
#[derive(Clone)]
pub(crate) struct Access {
    pub(crate) settings: Settings,
    pub(crate) credentials: Credentials,
    pub(crate) allow_insecure_urls: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) connections: Vec<Arc<Connection>>,
    pub(crate) failures: Vec<Failure>,
    /// Number of values that surely don't exist.
    pub(crate) n_missing: usize,
}

/// Kinds of the calls made; passes calls on to another observer.
#[derive(Default)]
struct Calls {
    kinds: Mutex<Vec<CallKind>>,
    next: Option<Arc<dyn Observer>>,
}

impl Observer for Calls {
    fn observe(&self, exchange: &Exchange<'_>) {
        self.kinds.lock().push(exchange.kind);
        if let Some(next) = &self.next {
            next.observe(exchange);
        }
    }
}

impl OneAccount {
    /// Opens an account. Makes no call yet.
    pub(crate) fn open(
        manifest: &Arc<Manifest>,
        access: &Access,
        time_limit: Duration,
        next: Option<Arc<dyn Observer>>,
    ) -> Result<Self, String> {
        let calls = Arc::new(Calls { next, ..Calls::default() });
        let options = PlatformOptions {
            addresses: AddressRules::for_local_user(access.allow_insecure_urls),
            manifests: Manifests::only(Arc::clone(manifest)),
            ..PlatformOptions::default()
        };
        let observer: Arc<dyn Observer> = Arc::clone(&calls) as Arc<dyn Observer>;
        let platforms = Platforms::with_observer(options, observer).map_err(|it| it.to_string())?;
        let faults =
            platforms.catalog().faults(manifest.name(), &access.settings, &access.credentials);
        if !faults.is_empty() {
            let texts = faults.iter().map(|it| format!("{} {}", it.name, it.reason));
            return Err(texts.collect::<Vec<_>>().join("; "));
        }
        let account = Account {
            platform: PLATFORM.parse().expect("it is a platform's name"),
            name: "account".parse().expect("it is an account's name"),
            connector: manifest.name().clone(),
            platform_account: "account".parse().expect("it is an account's name on its platform"),
        };
        let tenant: TenantName = "tenant".parse().expect("it is a tenant's name");
        let setup = AccountSetup {
            settings: &access.settings,
            credentials: &access.credentials,
            address_source: AddressSource::Operator,
        };
        let live = platforms.open(&tenant, account, 1, setup);
        Ok(Self { platforms, accounts: [live], calls, time_limit })
    }

    pub(crate) fn n_calls(&self, kind: CallKind) -> usize {
        let kinds = self.calls.kinds.lock();
        kinds.iter().filter(|it| **it == kind).count()
    }

    pub(crate) fn n_calls_all(&self) -> usize {
        CallKind::ALL.iter().map(|kind| self.n_calls(*kind)).sum()
    }

    fn context(&self) -> CallContext {
        CallContext::until(Instant::now() + self.time_limit)
    }

    /// Reads a page with all parts.
    pub(crate) async fn page(&self, number: u64, size: u64) -> Outcome {
        self.page_with(number, size, ProductParts::ALL).await
    }

    /// Reads a page with some parts.
    pub(crate) async fn page_with(&self, number: u64, size: u64, parts: ProductParts) -> Outcome {
        let everything = ProductFilter::read(&Expression::parse("", &FILTER_FIELDS));
        let everything = everything.expect("an empty filter is valid");
        let (page, context) =
            (PageRequest { number, size }, CallContext { parts, ..self.context() });
        let listing = self.platforms.list(&self.accounts, &everything, page, context).await;
        Outcome {
            connections: listing.products.into_iter().map(|it| it.connection).collect(),
            failures: listing.failures.into_iter().map(|it| it.failure).collect(),
            n_missing: 0,
        }
    }

    /// Looks up values; malformed values count as missing.
    pub(crate) async fn look_up(&self, by: LookUpKey, values: &[String]) -> Outcome {
        let mut request = FindRequest::default();
        for value in values {
            match by {
                LookUpKey::Id => request.ids.push(ProductId {
                    platform: PLATFORM.parse().expect("it is a platform's name"),
                    local_id: value.clone(),
                }),
                LookUpKey::Number(kind) => {
                    request.identifiers.extend(Identifier::parse(kind, value).ok())
                }
            }
        }
        let n_malformed = values.len() - request.ids.len() - request.identifiers.len();
        let result = self.platforms.find(&self.accounts, &request, self.context()).await;
        Outcome {
            connections: result.products.into_iter().map(|it| it.connection).collect(),
            failures: result.failures.into_iter().map(|it| it.failure).collect(),
            n_missing: result.missing.ids.len() + result.missing.identifiers.len() + n_malformed,
        }
    }
}
