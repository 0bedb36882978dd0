//! Everything that is known about platforms while the server runs, and what came of asking them.

use std::sync::Arc;

use gatehouse_core::{
    Account, AccountName, CurrentShare, Identifier, Product, ProductId, TenantName,
};

use crate::account_settings::AccountSetup;
use crate::catalog::Catalog;
use crate::client::{AddressRules, ClientPool, Observer};
use crate::engine::live::LiveAccount;
use crate::engine::memory::Memory;
use crate::engine::open_accounts::OpenAccounts;
use crate::failure::Failure;
use crate::manifests::Manifests;
use crate::meter::PlatformMeter;

/// What an operator may set.
#[derive(Clone)]
pub struct PlatformOptions {
    /// Where platforms may be.
    pub addresses: AddressRules,
    /// Most calls to platforms at the same time, over all accounts: each is an open file.
    pub calls_at_once: usize,
    /// The connectors that are manifests.
    pub manifests: Manifests,
}

/// Most calls to platforms at the same time, where nobody knows how many files may be open.
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
    fn outside(&self) -> Result<ClientPool, ClientBuildError> {
        ClientPool::new(self.addresses.clone(), self.calls_at_once).map_err(ClientBuildError)
    }
}

/// Everything that is known about platforms while the server runs. Nothing of it must be kept.
pub struct Platforms {
    catalog: Catalog,
    open: OpenAccounts,
    pub(crate) memory: Memory,
    meter: PlatformMeter,
    outside: Arc<ClientPool>,
}

/// Why no platform can be asked at all.
#[derive(Debug, thiserror::Error)]
#[error("no HTTP client can be made for platforms: {0}")]
pub struct ClientBuildError(reqwest::Error);

/// What failed at one account.
#[derive(Clone, Debug)]
pub struct AccountFailure {
    /// The account.
    pub account: Arc<Account>,
    /// Why.
    pub failure: Failure,
}

/// A page over several accounts.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// What was found, in the order of accounts.
    pub products: Vec<Product>,
    /// What failed, in the same order.
    pub troubles: Vec<AccountFailure>,
    /// How many accounts matched, where that is more than the page has room for.
    pub too_many_accounts: Option<usize>,
}

/// What is looked for: all different, all well formed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FindRequest {
    /// By what connections carry.
    pub identifiers: Vec<Identifier>,
    /// By their own identifiers.
    pub ids: Vec<ProductId>,
}

/// What was found of it.
#[derive(Clone, Debug, Default)]
pub struct FindResult {
    /// Each product once, in the order of accounts.
    pub products: Vec<Product>,
    /// What failed, in the order of accounts.
    pub troubles: Vec<AccountFailure>,
    /// What surely no account has: every one that could have it has answered.
    pub missing: FindRequest,
}

/// What came of asking for one product.
#[derive(Clone, Debug, Default)]
pub struct ReadResult {
    /// The product, where an account has it.
    pub product: Option<Product>,
    /// What failed on the way; without a product and without a failure, there is none.
    pub troubles: Vec<AccountFailure>,
}

impl Platforms {
    /// Nothing is known yet, and nothing is asked.
    pub fn new(options: PlatformOptions) -> Result<Self, ClientBuildError> {
        let outside = options.outside()?;
        Ok(Self::over(options, outside))
    }

    /// The same, where someone looks on at every call.
    pub fn witnessed(
        options: PlatformOptions,
        witness: Arc<dyn Observer>,
    ) -> Result<Self, ClientBuildError> {
        let outside = options.outside()?.witnessed_by(witness);
        Ok(Self::over(options, outside))
    }

    fn over(options: PlatformOptions, outside: ClientPool) -> Self {
        Self {
            catalog: Catalog::new(options.addresses, options.manifests),
            open: OpenAccounts::default(),
            memory: Memory::default(),
            meter: PlatformMeter::new(),
            outside: Arc::new(outside),
        }
    }

    /// What is measured of the calls.
    pub fn meter(&self) -> &PlatformMeter {
        &self.meter
    }

    /// Which part of every budget is this server's: all of it, until somebody says otherwise.
    pub fn slice(&self) -> &CurrentShare {
        self.outside.slice()
    }

    /// Which connectors there are.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// An account that was opened before and has not changed since.
    pub fn live(
        &self,
        tenant: &TenantName,
        name: &AccountName,
        version: i64,
    ) -> Option<Arc<LiveAccount>> {
        self.open.get(tenant, name).filter(|it| it.version() == version)
    }

    /// Opens an account. One that can't be asked is live too: asked, it tells why.
    pub fn open(
        &self,
        tenant: &TenantName,
        account: Account,
        version: i64,
        reached: AccountSetup<'_>,
    ) -> Arc<LiveAccount> {
        let meter = self.meter.account(tenant, &account);
        let latency = meter.latency().clone();
        let connector = self.catalog.open(tenant, &account, reached, &self.outside, meter);
        let (tenant, account) = (tenant.clone(), Arc::new(account));
        self.open.insert(LiveAccount::new(tenant, account, version, connector, latency))
    }

    /// Closes an account that is gone, or is another one now. Who asks it just now is not disturbed.
    pub fn close(&self, tenant: &TenantName, name: &AccountName) {
        self.open.close(tenant, name);
    }

    /// Closes what a tenant has no longer: all accounts but these.
    pub fn keep_only(&self, tenant: &TenantName, all: &[&AccountName]) {
        self.open.keep_only(tenant, all);
    }
}
