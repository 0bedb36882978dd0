//! The engine around a single account, to record, replay or test a manifest.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::account::{AddressSource, Credentials};
use gatehouse_core::filter::Expression;
use gatehouse_core::filter::product::{ProductFilter, VOCABULARY};
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
    patience: Duration,
}

/// Settings and credentials of an account.
#[derive(Clone)]
pub(crate) struct Access {
    pub(crate) settings: Settings,
    pub(crate) credentials: Credentials,
    pub(crate) allow_insecure_urls: bool,
}

/// Result of a request.
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
    also: Option<Arc<dyn Observer>>,
}

impl Observer for Calls {
    fn saw(&self, exchange: &Exchange<'_>) {
        self.kinds.lock().push(exchange.kind);
        if let Some(also) = &self.also {
            also.saw(exchange);
        }
    }
}

impl OneAccount {
    /// Opens an account. Makes no call yet.
    pub(crate) fn open(
        manifest: &Arc<Manifest>,
        access: &Access,
        patience: Duration,
        also: Option<Arc<dyn Observer>>,
    ) -> Result<Self, String> {
        let calls = Arc::new(Calls { also, ..Calls::default() });
        let options = PlatformOptions {
            addresses: AddressRules::of_a_person(access.allow_insecure_urls),
            manifests: Manifests::only(Arc::clone(manifest)),
            ..PlatformOptions::default()
        };
        let witness: Arc<dyn Observer> = Arc::clone(&calls) as Arc<dyn Observer>;
        let platforms = Platforms::witnessed(options, witness).map_err(|it| it.to_string())?;
        let faults =
            platforms.catalog().faults(manifest.name(), &access.settings, &access.credentials);
        if !faults.is_empty() {
            let told = faults.iter().map(|it| format!("{} {}", it.name, it.reason));
            return Err(told.collect::<Vec<_>>().join("; "));
        }
        let account = Account {
            platform: PLATFORM.parse().expect("it is a platform's name"),
            name: "account".parse().expect("it is an account's name"),
            connector: manifest.name().clone(),
            platform_account: "account".parse().expect("it is what a platform calls an account"),
        };
        let tenant: TenantName = "tenant".parse().expect("it is a tenant's name");
        let reached = AccountSetup {
            settings: &access.settings,
            credentials: &access.credentials,
            address_source: AddressSource::Operator,
        };
        let live = platforms.open(&tenant, account, 1, reached);
        Ok(Self { platforms, accounts: [live], calls, patience })
    }

    /// Number of calls of a kind.
    pub(crate) fn n_calls(&self, kind: CallKind) -> usize {
        let kinds = self.calls.kinds.lock();
        kinds.iter().filter(|it| **it == kind).count()
    }

    /// Number of calls.
    pub(crate) fn n_calls_all(&self) -> usize {
        CallKind::ALL.iter().map(|kind| self.n_calls(*kind)).sum()
    }

    fn ask(&self) -> CallContext {
        CallContext::until(Instant::now() + self.patience)
    }

    /// Reads a page with all parts.
    pub(crate) async fn page(&self, number: u64, size: u64) -> Outcome {
        self.page_with(number, size, ProductParts::ALL).await
    }

    /// Reads a page with some parts.
    pub(crate) async fn page_with(&self, number: u64, size: u64, parts: ProductParts) -> Outcome {
        let everything = ProductFilter::read(&Expression::parse("", &VOCABULARY));
        let everything = everything.expect("nothing is a filter that lets everything through");
        let (page, ask) = (PageRequest { number, size }, CallContext { parts, ..self.ask() });
        let listing = self.platforms.list(&self.accounts, &everything, page, ask).await;
        Outcome {
            connections: listing.products.into_iter().map(|it| it.connection).collect(),
            failures: listing.troubles.into_iter().map(|it| it.failure).collect(),
            n_missing: 0,
        }
    }

    /// Looks up values; malformed values count as missing.
    pub(crate) async fn look_up(&self, by: LookUpKey, values: &[String]) -> Outcome {
        let mut wanted = FindRequest::default();
        for value in values {
            match by {
                LookUpKey::Id => wanted.ids.push(ProductId {
                    platform: PLATFORM.parse().expect("it is a platform's name"),
                    local_id: value.clone(),
                }),
                LookUpKey::Number(kind) => {
                    wanted.identifiers.extend(Identifier::parse(kind, value).ok())
                }
            }
        }
        let n_unfit = values.len() - wanted.ids.len() - wanted.identifiers.len();
        let finding = self.platforms.find(&self.accounts, &wanted, self.ask()).await;
        Outcome {
            connections: finding.products.into_iter().map(|it| it.connection).collect(),
            failures: finding.troubles.into_iter().map(|it| it.failure).collect(),
            n_missing: finding.missing.ids.len() + finding.missing.identifiers.len() + n_unfit,
        }
    }
}
