//! Contracts, and the numbers of their accesses.

use gatehouse_core::event::audit::SetupObject;
use gatehouse_core::list::{NumberedSet, SetSize};
use gatehouse_core::{
    BillingModel, Contract, ContractId, ContractStatus, Page, PageRequest, Policy, Status,
    TenantName, Timestamp,
};

use crate::counts::counter;
use crate::counts::tally::{self, Tally, tally_columns};
use crate::db::{Row, Tx, WriteKind};
use crate::error::StoreError;
use crate::journal::audit::Audited;
use crate::{Put, Store};

/// The columns of a contract, in the order that [`read`] reads them.
macro_rules! columns {
    () => {
        "SELECT c.id, c.offering_id, c.billing_model, c.status, c.start_at, c.end_at, c.validity, \
         c.n_accesses_max, c.policy"
    };
}

/// The columns of a contract with its tally, and the number of accesses whose end has come by `?1` and whose expiry is
/// not stored. That number takes a scan of an index, as long as there are such accesses.
macro_rules! counted_columns {
    () => {
        concat!(
            columns!(),
            ", ",
            tally_columns!(),
            ", ",
            overdue!(),
            ", t.n_reserved",
            from_counted!()
        )
    };
}

/// The columns of a contract with its tally, and the number of expired accesses only where a quota needs it.
macro_rules! limited_columns {
    () => {
        concat!(
            columns!(),
            ", ",
            tally_columns!(),
            ", CASE WHEN c.n_accesses_max IS NULL THEN 0 ELSE ",
            overdue!(),
            " END, t.n_reserved",
            from_counted!()
        )
    };
}

macro_rules! overdue {
    () => {
        "(SELECT COUNT(*) FROM access a WHERE a.tenant = c.tenant AND a.contract_id = c.id \
         AND a.status <> 'TERMINATED' AND a.end_at <= ?1)"
    };
}

macro_rules! from_counted {
    () => {
        " FROM contract c JOIN tally t ON t.tenant = c.tenant AND t.contract_id = c.id"
    };
}

/// A contract with the number of its accesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedContract {
    /// The contract.
    pub contract: Contract,
    /// Number of accesses that are not terminated.
    pub n_live: u64,
    /// Number of accesses that unfinished batches have reserved.
    pub n_reserved: u64,
}

impl CountedContract {
    /// Number of accesses that count against the quota.
    pub fn n_taken(&self) -> u64 {
        self.n_live + self.n_reserved
    }
}

/// Why a contract was not created or replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutContractRefused {
    /// The tenant doesn't exist.
    NoTenant,
    /// Offering and billing model of a contract with accesses can't change.
    InUse(ContractInUse),
}

/// A contract with accesses can't be deleted or changed in this way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContractInUse {
    /// Number of accesses, including terminated ones and those that unfinished batches have reserved.
    pub n_accesses: u64,
}

impl Store {
    /// Creates the contract, or replaces the existing one.
    pub async fn put_contract(
        &self,
        tenant: &TenantName,
        contract: &Contract,
        audited: &Audited<Contract>,
    ) -> Result<Result<Put, PutContractRefused>, StoreError> {
        let (tenant, contract, audited) = (tenant.clone(), contract.clone(), audited.clone());
        self.db
            .write(WriteKind::Tenant(tenant.clone()), async move |tx| {
                // Creations hold this lock too, so they see the contract before or after the change.
                if counter::lock_tenant(&tx, &tenant).await?.is_none() {
                    return Ok(Err(PutContractRefused::NoTenant));
                }
                let before = read_in(&tx, &tenant, &contract.id).await?;
                if let Some(before) = &before {
                    let fixed = before.offering_id == contract.offering_id
                        && before.billing_model == contract.billing_model;
                    let n_accesses = n_in_use(&tx, &tenant, &contract.id).await?;
                    if !fixed && n_accesses > 0 {
                        let in_use = ContractInUse { n_accesses };
                        return Ok(Err(PutContractRefused::InUse(in_use)));
                    }
                }
                write_in(&tx, &tenant, &contract).await?;
                let changed = (SetupObject::Contract, contract.id.as_str());
                audited.write(&tx, &tenant, changed, before.as_ref(), Some(&contract)).await?;
                Ok(Ok(if before.is_some() { Put::Replaced } else { Put::Created }))
            })
            .await
    }

    /// The contract with this identifier, with the number of its accesses at `now`.
    pub async fn contract(
        &self,
        tenant: &TenantName,
        id: &ContractId,
        now: Timestamp,
    ) -> Result<Option<CountedContract>, StoreError> {
        let sql = concat!(counted_columns!(), " WHERE c.tenant = ?2 AND c.id = ?3");
        let values = [now.into(), tenant.as_str().into(), id.as_str().into()];
        self.db.row(sql, &values, read_counted).await
    }

    /// A page of the tenant's contracts, by identifier; `None` when the tenant doesn't exist.
    ///
    /// Uses COUNT and OFFSET: a tenant has few contracts compared to its accesses.
    pub async fn contracts(
        &self,
        tenant: &TenantName,
        request: PageRequest,
        now: Timestamp,
    ) -> Result<Option<Page<CountedContract>>, StoreError> {
        let sql = "SELECT (SELECT COUNT(*) FROM contract c WHERE c.tenant = t.tenant) \
                   FROM tenant t WHERE t.tenant = ?1";
        let total = self.db.row(sql, &[tenant.as_str().into()], |row| row.count(0)).await?;
        let Some(total) = total else { return Ok(None) };
        let sql =
            concat!(counted_columns!(), " WHERE c.tenant = ?2 ORDER BY c.id LIMIT ?3 OFFSET ?4");
        let values =
            [now.into(), tenant.as_str().into(), request.size.into(), request.offset().into()];
        let items = self.db.rows(sql, &values, read_counted).await?;
        Ok(Some(Page { request, items, total }))
    }

    /// Deletes a contract without accesses; `None` when it doesn't exist.
    pub async fn delete_contract(
        &self,
        tenant: &TenantName,
        id: &ContractId,
        audited: &Audited<Contract>,
    ) -> Result<Option<Result<(), ContractInUse>>, StoreError> {
        let (tenant, id, audited) = (tenant.clone(), id.clone(), audited.clone());
        self.db
            .write(WriteKind::Tenant(tenant.clone()), async move |tx| {
                if counter::lock_tenant(&tx, &tenant).await?.is_none() {
                    return Ok(None);
                }
                let Some(before) = read_in(&tx, &tenant, &id).await? else { return Ok(None) };
                let n_accesses = n_in_use(&tx, &tenant, &id).await?;
                if n_accesses > 0 {
                    return Ok(Some(Err(ContractInUse { n_accesses })));
                }
                let values = [tenant.as_str().into(), id.as_str().into()];
                tx.execute("DELETE FROM contract WHERE tenant = ?1 AND id = ?2", &values).await?;
                let sql = "DELETE FROM tally WHERE tenant = ?1 AND contract_id = ?2";
                tx.execute(sql, &values).await?;
                counter::remove(&tx, &tenant, &NumberedSet::Contract(id.clone())).await?;
                let changed = (SetupObject::Contract, id.as_str());
                audited.write(&tx, &tenant, changed, Some(&before), None).await?;
                Ok::<_, StoreError>(Some(Ok(())))
            })
            .await
    }
}

/// Reads a contract in a transaction.
pub(crate) async fn read_in(
    tx: &Tx,
    tenant: &TenantName,
    id: &ContractId,
) -> Result<Option<Contract>, StoreError> {
    let sql = concat!(columns!(), " FROM contract c WHERE c.tenant = ?1 AND c.id = ?2");
    tx.row(sql, &[tenant.as_str().into(), id.as_str().into()], read).await
}

/// Reads a contract in a transaction, with the number of its accesses as far as its quota needs it.
pub(crate) async fn read_limited_in(
    tx: &Tx,
    tenant: &TenantName,
    id: &ContractId,
    now: Timestamp,
) -> Result<Option<CountedContract>, StoreError> {
    let sql = concat!(limited_columns!(), " WHERE c.tenant = ?2 AND c.id = ?3");
    let values = [now.into(), tenant.as_str().into(), id.as_str().into()];
    tx.row(sql, &values, read_counted).await
}

/// Number of accesses that exist, and that unfinished batches will create.
async fn n_in_use(tx: &Tx, tenant: &TenantName, id: &ContractId) -> Result<u64, StoreError> {
    let counter = counter::get(tx, tenant, &NumberedSet::Contract(id.clone())).await?;
    let n_accesses = counter.map_or(0, |counter| counter.total);
    Ok(n_accesses + tally::n_reserved(tx, tenant, id).await?)
}

/// Writes a contract, and creates its counters and its tally if they don't exist.
async fn write_in(tx: &Tx, tenant: &TenantName, contract: &Contract) -> Result<(), StoreError> {
    let sql = "INSERT INTO contract (tenant, id, offering_id, billing_model, status, start_at, \
               end_at, validity, n_accesses_max, policy) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
               ON CONFLICT (tenant, id) DO UPDATE SET offering_id = excluded.offering_id, \
               billing_model = excluded.billing_model, status = excluded.status, \
               start_at = excluded.start_at, end_at = excluded.end_at, \
               validity = excluded.validity, n_accesses_max = excluded.n_accesses_max, \
               policy = excluded.policy";
    let policy = contract.policy.stored();
    let values = [
        tenant.as_str().into(),
        contract.id.as_str().into(),
        contract.offering_id.as_str().into(),
        contract.billing_model.as_str().into(),
        contract.status.as_str().into(),
        contract.start.into(),
        contract.end.into(),
        contract.validity.as_ref().map(|validity| validity.as_str()).into(),
        contract.n_accesses_max.into(),
        policy.as_deref().into(),
    ];
    tx.execute(sql, &values).await?;
    tally::create(tx, tenant, &contract.id).await?;
    let none = SetSize { total: 0, latest_at: Timestamp::EPOCH };
    for set in [
        NumberedSet::Contract(contract.id.clone()),
        NumberedSet::Offering(contract.offering_id.clone()),
    ] {
        if counter::get(tx, tenant, &set).await?.is_none() {
            counter::put(tx, tenant, &set, none).await?;
        }
    }
    Ok(())
}

fn read(row: &Row<'_>) -> Result<Contract, StoreError> {
    let word = |column| row.text(column);
    let (billing_model, status) = (word(2)?, word(3)?);
    let validity = row.optional_text(6)?;
    Ok(Contract {
        id: row.parsed(0)?,
        offering_id: row.parsed(1)?,
        billing_model: BillingModel::from_word(&billing_model)
            .ok_or_else(|| StoreError::corrupt("an unknown billing model"))?,
        status: ContractStatus::from_word(&status)
            .ok_or_else(|| StoreError::corrupt("an unknown status of a contract"))?,
        start: row.optional_time(4)?,
        end: row.optional_time(5)?,
        validity: validity.map(|text| text.parse()).transpose().map_err(StoreError::corrupt)?,
        n_accesses_max: row.optional_count(7)?,
        policy: match row.optional_text(8)? {
            Some(stored) => stored.parse().map_err(StoreError::corrupt)?,
            None => Policy::default(),
        },
    })
}

fn read_counted(row: &Row<'_>) -> Result<CountedContract, StoreError> {
    let (tally, n_overdue) = (Tally::read(row, 9)?, row.count(14)?);
    let n_live = tally.total() - tally.get(Status::Terminated);
    Ok(CountedContract {
        contract: read(row)?,
        n_live: n_live.saturating_sub(n_overdue),
        n_reserved: row.count(15)?,
    })
}
