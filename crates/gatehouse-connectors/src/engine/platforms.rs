//! Run-time state of all platforms, and the results of requests to them.

use std::sync::Arc;

use gatehouse_core::{
    Account, AccountName, CurrentShare, Identifier, Product, ProductId, TenantName,
};

use crate::account_settings::AccountSetup;
use crate::catalog::Catalog;
use crate::client::{AddressRules, ClientPool, Observer};
use crate::engine::holder_cache::HolderCache;
use crate::engine::live::LiveAccount;
use crate::engine::open_accounts::OpenAccounts;
use crate::failure::Failure;
use crate::manifests::Manifests;
use crate::meter::PlatformMeter;

/// Options that an operator sets.
#[derive(Clone)]
pub struct PlatformOptions {
    /// Which addresses platforms may have.
    pub addresses: AddressRules,
    /// Most concurrent calls over all accounts: each is an open file.
    pub calls_at_once: usize,
    /// The connectors that are manifests.
    pub manifests: Manifests,
}

/// Default of concurrent calls, if the limit on open files is unknown.
const CALLS_AT_ONCE: usize = 1024;

impl Default for PlatformOptions {
    fn default() -> Self {
        Self {
            addresses: AddressRules::default(),
            calls_at_once: CALLS_AT_ONCE,
            manifests: Manifests::shipped(),
        }
    }
}

impl PlatformOptions {
    fn pool(&self) -> Result<ClientPool, ClientBuildError> {
        ClientPool::new(self.addresses.clone(), self.calls_at_once).map_err(ClientBuildError)
    }
}

/// Run-time state of all platforms. Nothing of it needs to be stored.
pub struct Platforms {
    catalog: Catalog,
    open: OpenAccounts,
    pub(crate) holder_cache: HolderCache,
    meter: PlatformMeter,
    pool: Arc<ClientPool>,
}

/// The HTTP client for platforms can't be built.
#[derive(Debug, thiserror::Error)]
#[error("no HTTP client can be made for platforms: {0}")]
pub struct ClientBuildError(reqwest::Error);

/// A failure at one account.
#[derive(Clone, Debug)]
pub struct AccountFailure {
    /// The account.
    pub account: Arc<Account>,
    /// The failure.
    pub failure: Failure,
}

/// A page over several accounts.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// Products in the order of accounts.
    pub products: Vec<Product>,
    /// Failures in the order of accounts.
    pub failures: Vec<AccountFailure>,
    /// Number of matching accounts, if larger than the page size.
    pub too_many_accounts: Option<usize>,
}

/// Products to find: no duplicates, all well formed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FindRequest {
    /// By identifiers of connections.
    pub identifiers: Vec<Identifier>,
    /// By product ids.
    pub ids: Vec<ProductId>,
}

/// Result of a [`FindRequest`].
#[derive(Clone, Debug, Default)]
pub struct FindResult {
    /// Each product once, in the order of accounts.
    pub products: Vec<Product>,
    /// Failures in the order of accounts.
    pub failures: Vec<AccountFailure>,
    /// Targets that surely no account has: every account that could have them answered.
    pub missing: FindRequest,
}

/// Result of reading one product.
#[derive(Clone, Debug, Default)]
pub struct ReadResult {
    /// The product, if an account has it.
    pub product: Option<Product>,
    /// Failures; without a product and without failures, no account has it.
    pub failures: Vec<AccountFailure>,
}

impl Platforms {
    /// Starts without open accounts; calls nothing.
    pub fn new(options: PlatformOptions) -> Result<Self, ClientBuildError> {
        let pool = options.pool()?;
        Ok(Self::with_pool(options, pool))
    }

    /// Starts with an observer of every call.
    pub fn with_observer(
        options: PlatformOptions,
        observer: Arc<dyn Observer>,
    ) -> Result<Self, ClientBuildError> {
        let pool = options.pool()?.observed_by(observer);
        Ok(Self::with_pool(options, pool))
    }

    fn with_pool(options: PlatformOptions, pool: ClientPool) -> Self {
        Self {
            catalog: Catalog::new(options.addresses, options.manifests),
            open: OpenAccounts::default(),
            holder_cache: HolderCache::default(),
            meter: PlatformMeter::new(),
            pool: Arc::new(pool),
        }
    }

    /// Metrics of the calls.
    pub fn meter(&self) -> &PlatformMeter {
        &self.meter
    }

    /// This server's share of every budget: all of it, until set.
    pub fn share(&self) -> &CurrentShare {
        self.pool.share()
    }

    /// The catalog of connectors.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// An account that was opened in this version.
    pub fn live(
        &self,
        tenant: &TenantName,
        name: &AccountName,
        version: i64,
    ) -> Option<Arc<LiveAccount>> {
        self.open.get(tenant, name).filter(|it| it.version() == version)
    }

    /// Opens an account. One that can't be reached is opened too, and every call to it fails with the reason.
    pub fn open(
        &self,
        tenant: &TenantName,
        account: Account,
        version: i64,
        setup: AccountSetup<'_>,
    ) -> Arc<LiveAccount> {
        let meter = self.meter.account(tenant, &account);
        let latency = meter.latency().clone();
        let connector = self.catalog.open(tenant, &account, setup, &self.pool, meter);
        let (tenant, account) = (tenant.clone(), Arc::new(account));
        self.open.insert(LiveAccount::new(tenant, account, version, connector, latency))
    }

    /// Closes an account that was deleted or changed. Calls under way go on.
    pub fn close(&self, tenant: &TenantName, name: &AccountName) {
        self.open.close(tenant, name);
    }

    /// Closes the tenant's accounts that are not in `all`.
    pub fn keep_only(&self, tenant: &TenantName, all: &[&AccountName]) {
        self.open.keep_only(tenant, all);
    }
}
