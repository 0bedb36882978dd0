//! All accounts of all tenants, as far as they have been asked.

use std::sync::Arc;

use gatehouse_core::account::Credentials;
use gatehouse_core::filter::product::ProductFilter;
use gatehouse_core::{
    Account, AccountName, Identifier, PageRequest, Product, ProductId, TenantName,
};
use prometheus::Registry;

use crate::catalog::{Catalog, Settings};
use crate::connector::Ask;
use crate::failure::Failure;

/// What an operator may set.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether platforms elsewhere may be reached without encryption.
    pub allow_insecure_urls: bool,
}

/// Everything that is known about platforms while the server runs. Nothing of it must be kept.
pub struct Platforms {
    catalog: Catalog,
}

/// An account that can be asked.
pub struct LiveAccount {
    account: Arc<Account>,
}

/// What an account's last calls showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It answered.
    Up,
    /// It failed.
    Down,
    /// It was not asked yet.
    Unknown,
}

/// What failed at one account.
#[derive(Clone, Debug)]
pub struct AccountTrouble {
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
    pub troubles: Vec<AccountTrouble>,
    /// How many accounts matched, where that is more than the page has room for.
    pub too_many_accounts: Option<usize>,
}

/// What is looked for: all different, all well formed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// By what connections carry.
    pub identifiers: Vec<Identifier>,
    /// By their own identifiers.
    pub ids: Vec<ProductId>,
}

/// What was found of it.
#[derive(Clone, Debug, Default)]
pub struct Finding {
    /// Each product once, in the order of accounts.
    pub products: Vec<Product>,
    /// What failed, in the order of accounts.
    pub troubles: Vec<AccountTrouble>,
    /// What surely no account has: every one that could have it has answered.
    pub missing: Wanted,
}

/// What came of asking for one product.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The product, where an account has it.
    pub product: Option<Product>,
    /// What failed on the way; without a product and without a failure, there is none.
    pub troubles: Vec<AccountTrouble>,
}

impl Platforms {
    /// Nothing is known yet. Its figures are shown by the registry.
    pub fn new(options: Options, registry: &Registry) -> Self {
        let _ = registry;
        Self { catalog: Catalog::new(options.allow_insecure_urls) }
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
        let _ = (tenant, name, version);
        todo!()
    }

    /// Opens an account. One that can't be asked is live too: asked, it tells why.
    pub fn open(
        &self,
        tenant: &TenantName,
        account: Account,
        version: i64,
        settings: &Settings,
        credentials: &Credentials,
    ) -> Arc<LiveAccount> {
        let _ = (tenant, account, version, settings, credentials);
        todo!()
    }

    /// What the last calls to an account showed.
    pub fn health(&self, tenant: &TenantName, name: &AccountName, version: i64) -> Health {
        let _ = (tenant, name, version);
        todo!()
    }

    /// One page over all accounts that match, each asked for its share of it.
    pub async fn list(
        &self,
        accounts: &[Arc<LiveAccount>],
        filter: &ProductFilter,
        page: PageRequest,
        ask: Ask,
    ) -> Listing {
        let _ = (accounts, filter, page, ask);
        todo!()
    }

    /// Looks for many products at once.
    pub async fn find(&self, accounts: &[Arc<LiveAccount>], wanted: &Wanted, ask: Ask) -> Finding {
        let _ = (accounts, wanted, ask);
        todo!()
    }

    /// Asks for one product.
    pub async fn read(&self, accounts: &[Arc<LiveAccount>], id: &ProductId, ask: Ask) -> Reading {
        let _ = (accounts, id, ask);
        todo!()
    }
}

impl LiveAccount {
    /// Which account it is.
    pub fn account(&self) -> &Arc<Account> {
        &self.account
    }
}
