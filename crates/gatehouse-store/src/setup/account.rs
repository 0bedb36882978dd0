//! Accounts at external platforms, with their settings and sealed credentials.
//!
//! A server keeps an account's connection state for as long as its version is the same. So a version is never used
//! twice, not even for an account that was deleted and created again.

use gatehouse_core::account::{ACCOUNTS_MAX, AddressSource};
use gatehouse_core::event::audit::SetupObject;
use gatehouse_core::{Account, AccountName, Page, PageRequest, TenantName};

use crate::counts::counter;
use crate::db::{Row, Tx, WriteKind};
use crate::error::StoreError;
use crate::journal::audit::Audited;
use crate::{Put, Store};

/// The columns of an account, in the order that [`read`] reads them.
macro_rules! columns {
    () => {
        "a.platform, a.name, a.connector, a.platform_account, a.version"
    };
}

/// The columns of an account with settings and credentials, in the order that [`read_stored`] reads them.
macro_rules! stored_columns {
    () => {
        concat!(
            "SELECT ",
            columns!(),
            ", a.settings, a.credentials, a.vouched_version FROM account a"
        )
    };
}

/// An account with its settings and credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredAccount {
    /// The account.
    pub account: Account,
    /// Settings of the platform's connection: a JSON object.
    pub settings: String,
    /// Sealed credentials; `None` without any.
    pub credentials: Option<Vec<u8>>,
    /// Changes with every change of the account.
    pub version: i64,
    /// Whether an operator or a tenant's admin has set the platform's addresses.
    pub address_source: AddressSource,
}

/// An account to create or replace.
#[derive(Clone)]
pub struct AccountChange {
    /// The account.
    pub account: Account,
    /// Settings of the platform's connection: a JSON object.
    pub settings: String,
    /// Sealed credentials. `None` keeps the present ones; empty bytes remove them.
    pub credentials: Option<Vec<u8>>,
    /// Whether an operator or a tenant's admin has set the platform's addresses.
    pub address_source: AddressSource,
    /// The version that the caller has read; `None` when the account didn't exist.
    pub seen_version: Option<i64>,
}

/// Shows the account, without settings and credentials.
impl std::fmt::Debug for StoredAccount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { account, version, .. } = self;
        f.debug_struct("StoredAccount")
            .field("account", account)
            .field("version", version)
            .finish_non_exhaustive()
    }
}

/// Result of creating or replacing an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountPut {
    /// The account before; `None` when it was created.
    pub before: Option<StoredAccount>,
    /// The account now. An unchanged one keeps its version.
    pub after: StoredAccount,
}

impl AccountPut {
    /// Whether the account was created or replaced.
    pub fn put(&self) -> Put {
        if self.before.is_some() { Put::Replaced } else { Put::Created }
    }
}

/// Why an account was not created or replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutAccountRefused {
    /// The tenant doesn't exist.
    NoTenant,
    /// The tenant has [`ACCOUNTS_MAX`] accounts.
    TooMany,
    /// The account has changed since the caller read it.
    Changed,
}

impl Store {
    /// Creates the account, or replaces the existing one.
    pub async fn put_account(
        &self,
        tenant: &TenantName,
        change: AccountChange,
        audited: &Audited<StoredAccount>,
    ) -> Result<Result<AccountPut, PutAccountRefused>, StoreError> {
        let (tenant, audited) = (tenant.clone(), audited.clone());
        let AccountChange { account, settings, credentials, address_source, seen_version } = change;
        self.db
            .write(WriteKind::Tenant(tenant.clone()), async move |tx| {
                // Locked, so that a tenant that is being deleted leaves no account behind, and so that the limit holds.
                if counter::lock_tenant(&tx, &tenant).await?.is_none() {
                    return Ok(Err(PutAccountRefused::NoTenant));
                }
                let before = read_in(&tx, &tenant, &account.name).await?;
                if before.as_ref().map(|before| before.version) != seen_version {
                    return Ok(Err(PutAccountRefused::Changed));
                }
                if before.is_none() && count(&tx, &tenant).await? >= ACCOUNTS_MAX {
                    return Ok(Err(PutAccountRefused::TooMany));
                }
                let had = before.as_ref().and_then(|before| before.credentials.clone());
                let credentials = credentials.or(had).filter(|sealed| !sealed.is_empty());
                let version = before.as_ref().map_or(0, |before| before.version);
                let mut after =
                    StoredAccount { account, settings, credentials, version, address_source };
                if before.as_ref() != Some(&after) {
                    after.version = draw_version(&tx, &tenant).await?;
                    write_in(&tx, &tenant, &after).await?;
                    let changed = (SetupObject::Account, after.account.name.as_str());
                    audited.write(&tx, &tenant, changed, before.as_ref(), Some(&after)).await?;
                }
                Ok(Ok(AccountPut { before, after }))
            })
            .await
    }

    /// The account with this name, with its settings and credentials.
    pub async fn account(
        &self,
        tenant: &TenantName,
        name: &AccountName,
    ) -> Result<Option<StoredAccount>, StoreError> {
        let sql = concat!(stored_columns!(), " WHERE a.tenant = ?1 AND a.name = ?2");
        self.db.row(sql, &[tenant.as_str().into(), name.as_str().into()], read_stored).await
    }

    /// All accounts of the tenant with their versions, by platform and name; `None` when the tenant doesn't exist. One
    /// scan of an index, without settings and credentials.
    pub async fn accounts(
        &self,
        tenant: &TenantName,
    ) -> Result<Option<Vec<(Account, i64)>>, StoreError> {
        // A tenant without accounts has one row of NULLs.
        let sql = concat!(
            "SELECT ",
            columns!(),
            " FROM tenant t LEFT JOIN account a ON a.tenant = t.tenant WHERE t.tenant = ?1 \
             ORDER BY a.platform, a.name"
        );
        let read = |row: &Row<'_>| row.optional_text(0)?.map(|_| read(row)).transpose();
        let rows = self.db.rows(sql, &[tenant.as_str().into()], read).await?;
        Ok(if rows.is_empty() { None } else { Some(rows.into_iter().flatten().collect()) })
    }

    /// A page of the tenant's accounts, by platform and name; `None` when the tenant doesn't exist. Uses COUNT and
    /// OFFSET, because accounts are few.
    pub async fn accounts_page(
        &self,
        tenant: &TenantName,
        request: PageRequest,
    ) -> Result<Option<Page<StoredAccount>>, StoreError> {
        let sql = "SELECT (SELECT COUNT(*) FROM account a WHERE a.tenant = t.tenant) \
                   FROM tenant t WHERE t.tenant = ?1";
        let total = self.db.row(sql, &[tenant.as_str().into()], |row| row.count(0)).await?;
        let Some(total) = total else { return Ok(None) };
        let sql = concat!(
            stored_columns!(),
            " WHERE a.tenant = ?1 ORDER BY a.platform, a.name LIMIT ?2 OFFSET ?3"
        );
        let values = [tenant.as_str().into(), request.size.into(), request.offset().into()];
        let items = self.db.rows(sql, &values, read_stored).await?;
        Ok(Some(Page { request, items, total }))
    }

    /// Deletes an account; false when it doesn't exist.
    pub async fn delete_account(
        &self,
        tenant: &TenantName,
        name: &AccountName,
        audited: &Audited<StoredAccount>,
    ) -> Result<bool, StoreError> {
        let (tenant, name, audited) = (tenant.clone(), name.clone(), audited.clone());
        self.db
            .write(WriteKind::Tenant(tenant.clone()), async move |tx| {
                // Locked, so that a concurrent change doesn't bring back what is deleted.
                if counter::lock_tenant(&tx, &tenant).await?.is_none() {
                    return Ok(false);
                }
                let values = [tenant.as_str().into(), name.as_str().into()];
                let before = read_in(&tx, &tenant, &name).await?;
                let Some(before) = before else { return Ok(false) };
                tx.execute("DELETE FROM account WHERE tenant = ?1 AND name = ?2", &values).await?;
                let changed = (SetupObject::Account, name.as_str());
                audited.write(&tx, &tenant, changed, Some(&before), None).await?;
                Ok::<_, StoreError>(true)
            })
            .await
    }
}

async fn read_in(
    tx: &Tx,
    tenant: &TenantName,
    name: &AccountName,
) -> Result<Option<StoredAccount>, StoreError> {
    let sql = concat!(stored_columns!(), " WHERE a.tenant = ?1 AND a.name = ?2");
    tx.row(sql, &[tenant.as_str().into(), name.as_str().into()], read_stored).await
}

async fn count(tx: &Tx, tenant: &TenantName) -> Result<u64, StoreError> {
    let sql = "SELECT COUNT(*) FROM account WHERE tenant = ?1";
    Ok(tx.row(sql, &[tenant.as_str().into()], |row| row.count(0)).await?.unwrap_or_default())
}

/// A version that no account of the tenant ever had, under the tenant's lock. It is a time, so that a tenant that was
/// deleted and created again uses other versions.
async fn draw_version(tx: &Tx, tenant: &TenantName) -> Result<i64, StoreError> {
    let sql = "UPDATE tenant SET account_version = CASE WHEN account_version < ?2 THEN ?2 \
               ELSE account_version + 1 END WHERE tenant = ?1 RETURNING account_version";
    let values = [tenant.as_str().into(), tx.now().await?.into()];
    let version = tx.row(sql, &values, |row| row.integer(0)).await?;
    version.ok_or_else(|| StoreError::corrupt("a tenant has a counter and no row"))
}

async fn write_in(tx: &Tx, tenant: &TenantName, stored: &StoredAccount) -> Result<(), StoreError> {
    let sql = "INSERT INTO account (tenant, name, platform, connector, platform_account, settings, \
               credentials, version, vouched_version) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) \
               ON CONFLICT (tenant, name) DO UPDATE SET platform = excluded.platform, \
               connector = excluded.connector, platform_account = excluded.platform_account, \
               settings = excluded.settings, credentials = excluded.credentials, \
               version = excluded.version, vouched_version = excluded.vouched_version";
    let StoredAccount { account, settings, credentials, version, address_source } = stored;
    let vouched_version = (*address_source == AddressSource::Operator).then_some(*version);
    let values = [
        tenant.as_str().into(),
        account.name.as_str().into(),
        account.platform.as_str().into(),
        account.connector.as_str().into(),
        account.platform_account.as_str().into(),
        settings.as_str().into(),
        credentials.as_deref().into(),
        (*version).into(),
        vouched_version.into(),
    ];
    tx.execute(sql, &values).await.map(drop)
}

fn read(row: &Row<'_>) -> Result<(Account, i64), StoreError> {
    let account = Account {
        platform: row.parsed(0)?,
        name: row.parsed(1)?,
        connector: row.parsed(2)?,
        platform_account: row.parsed(3)?,
    };
    Ok((account, row.integer(4)?))
}

fn read_stored(row: &Row<'_>) -> Result<StoredAccount, StoreError> {
    let (account, version) = read(row)?;
    let address_source = match row.optional_integer(7)? == Some(version) {
        true => AddressSource::Operator,
        false => AddressSource::Tenant,
    };
    Ok(StoredAccount {
        address_source,
        account,
        settings: row.text(5)?,
        credentials: row.optional_bytes(6)?,
        version,
    })
}
