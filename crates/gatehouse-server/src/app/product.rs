//! Products: the tenant's accounts are opened as far as they have to be, and asked.

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

/// Most accounts that one request reads at a time.
const OPENED_AT_ONCE: usize = 8;

impl App {
    /// One page over all accounts of a tenant that a filter leaves.
    pub async fn list_products(
        &self,
        tenant: &TenantName,
        filter: &ProductFilter,
        page: PageRequest,
        ask: CallContext,
    ) -> Result<Listing, Error> {
        let matches = |account: &Account| filter.scope(account) != Scope::Nothing;
        let accounts = self.live_accounts(tenant, matches).await?;
        Ok(self.platforms.list(&accounts, filter, page, ask).await)
    }

    /// Looks for many products at once.
    pub async fn find_products(
        &self,
        tenant: &TenantName,
        wanted: &FindRequest,
        ask: CallContext,
    ) -> Result<FindResult, Error> {
        let may_have = |account: &Account| {
            !wanted.identifiers.is_empty()
                || wanted.ids.iter().any(|id| id.platform == account.platform)
        };
        let accounts = self.live_accounts(tenant, may_have).await?;
        Ok(self.platforms.find(&accounts, wanted, ask).await)
    }

    /// Asks for one product.
    pub async fn read_product(
        &self,
        tenant: &TenantName,
        id: &ProductId,
        ask: CallContext,
    ) -> Result<ReadResult, Error> {
        let is_there = |account: &Account| account.platform == id.platform;
        let accounts = self.live_accounts(tenant, is_there).await?;
        Ok(self.platforms.read(&accounts, id, ask).await)
    }

    /// The accounts that are `wanted`, ready to be asked, in their order.
    async fn live_accounts(
        &self,
        tenant: &TenantName,
        wanted: impl Fn(&Account) -> bool,
    ) -> Result<Vec<Arc<LiveAccount>>, Error> {
        let Some(accounts) = self.store.accounts(tenant).await? else {
            self.platforms.keep_only(tenant, &[]);
            return Err(Error::NoTenant(tenant.to_string()));
        };
        let all: Vec<_> = accounts.iter().map(|(account, _)| &account.name).collect();
        self.platforms.keep_only(tenant, &all);
        let wanted = accounts.into_iter().filter(|(account, _)| wanted(account)).enumerate();
        let (mut live, mut closed) = (Vec::new(), Vec::new());
        for (n, (account, version)) in wanted {
            match self.platforms.live(tenant, &account.name, version) {
                Some(it) => live.push((n, it)),
                None => closed.push((n, account.name)),
            }
        }
        let opened = closed.into_iter().map(async |(n, name)| {
            let opened = self.bring_to_life(tenant, &name).await?;
            Ok::<_, Error>(opened.map(|it| (n, it)))
        });
        let opened: Vec<_> = stream::iter(opened).buffered(OPENED_AT_ONCE).try_collect().await?;
        live.extend(opened.into_iter().flatten());
        live.sort_unstable_by_key(|(n, _)| *n);
        Ok(live.into_iter().map(|(_, it)| it).collect())
    }

    /// Opens an account as it is kept; nothing where it is gone meanwhile. One that can't be read is live
    /// too: asked, it tells so, as a platform that fails would.
    async fn bring_to_life(
        &self,
        tenant: &TenantName,
        name: &AccountName,
    ) -> Result<Option<Arc<LiveAccount>>, Error> {
        let Some(kept) = self.store.account(tenant, name).await? else { return Ok(None) };
        let opened = self.open_account(tenant, &kept);
        let StoredAccount { account, version, address_source, .. } = kept;
        Ok(Some(match opened {
            Ok((settings, credentials)) => {
                let (settings, credentials) = (&settings, &credentials);
                let reached = AccountSetup { settings, credentials, address_source };
                self.platforms.open(tenant, account, version, reached)
            }
            Err(error) => {
                let cause = &error as &(dyn std::error::Error + 'static);
                tracing::error!(%tenant, account = %name, cause, "an account can't be read");
                let detail =
                    "its settings or credentials can't be read as they are kept; give them again";
                let failure = Failure::new(FailureKind::Error, detail);
                LiveAccount::closed(tenant, account, version, failure)
            }
        }))
    }
}
