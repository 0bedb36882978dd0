//! Reading products from the tenant's accounts, which are opened as needed.

use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};
use gatehouse_connectors::{
    AccountSetup, CallContext, Failure, FailureKind, FindRequest, FindResult, Listing, LiveAccount,
    ReadResult,
};
use gatehouse_core::filter::product::{ProductFilter, Scope};
use gatehouse_core::{Account, AccountName, PageRequest, ProductId, TenantName};
use gatehouse_store::StoredAccount;

use super::{App, Error};

/// Accounts that one request loads at the same time.
const CONCURRENT_LOADS: usize = 8;

impl App {
    /// A page of the products in all accounts that the filter allows.
    pub async fn list_products(
        &self,
        tenant: &TenantName,
        filter: &ProductFilter,
        page: PageRequest,
        context: CallContext,
    ) -> Result<Listing, Error> {
        let matches = |account: &Account| filter.scope(account) != Scope::Nothing;
        let accounts = self.live_accounts(tenant, matches).await?;
        Ok(self.platforms.list(&accounts, filter, page, context).await)
    }

    /// Finds many products at once.
    pub async fn find_products(
        &self,
        tenant: &TenantName,
        request: &FindRequest,
        context: CallContext,
    ) -> Result<FindResult, Error> {
        let may_have = |account: &Account| {
            !request.identifiers.is_empty()
                || request.ids.iter().any(|id| id.platform == account.platform)
        };
        let accounts = self.live_accounts(tenant, may_have).await?;
        Ok(self.platforms.find(&accounts, request, context).await)
    }

    /// Reads one product.
    pub async fn read_product(
        &self,
        tenant: &TenantName,
        id: &ProductId,
        context: CallContext,
    ) -> Result<ReadResult, Error> {
        let is_there = |account: &Account| account.platform == id.platform;
        let accounts = self.live_accounts(tenant, is_there).await?;
        Ok(self.platforms.read(&accounts, id, context).await)
    }

    /// The `selected` accounts in order, opened.
    async fn live_accounts(
        &self,
        tenant: &TenantName,
        selected: impl Fn(&Account) -> bool,
    ) -> Result<Vec<Arc<LiveAccount>>, Error> {
        let Some(accounts) = self.store.accounts(tenant).await? else {
            self.platforms.keep_only(tenant, &[]);
            return Err(Error::NoTenant(tenant.to_string()));
        };
        let all: Vec<_> = accounts.iter().map(|(account, _)| &account.name).collect();
        self.platforms.keep_only(tenant, &all);
        let accounts = accounts.into_iter().filter(|(account, _)| selected(account)).enumerate();
        let (mut live, mut closed) = (Vec::new(), Vec::new());
        for (n, (account, version)) in accounts {
            match self.platforms.live(tenant, &account.name, version) {
                Some(it) => live.push((n, it)),
                None => closed.push((n, account.name)),
            }
        }
        let opened = closed.into_iter().map(async |(n, name)| {
            let opened = self.open_live(tenant, &name).await?;
            Ok::<_, Error>(opened.map(|it| (n, it)))
        });
        let opened: Vec<_> = stream::iter(opened).buffered(CONCURRENT_LOADS).try_collect().await?;
        live.extend(opened.into_iter().flatten());
        live.sort_unstable_by_key(|(n, _)| *n);
        Ok(live.into_iter().map(|(_, it)| it).collect())
    }

    /// Loads and opens an account; `None` if it was deleted meanwhile. An unreadable account is open too: its calls
    /// fail like those of a failing platform.
    async fn open_live(
        &self,
        tenant: &TenantName,
        name: &AccountName,
    ) -> Result<Option<Arc<LiveAccount>>, Error> {
        let Some(stored) = self.store.account(tenant, name).await? else { return Ok(None) };
        let opened = self.open_account(tenant, &stored);
        let StoredAccount { account, version, address_source, .. } = stored;
        Ok(Some(match opened {
            Ok((settings, credentials)) => {
                let (settings, credentials) = (&settings, &credentials);
                let setup = AccountSetup { settings, credentials, address_source };
                self.platforms.open(tenant, account, version, setup)
            }
            Err(error) => {
                let cause = &error as &(dyn std::error::Error + 'static);
                tracing::error!(%tenant, account = %name, cause, "an account can't be read");
                let detail = "the stored settings or credentials can't be read; give them again";
                let failure = Failure::new(FailureKind::Error, detail);
                LiveAccount::closed(tenant, account, version, failure)
            }
        }))
    }
}
