//! Number of each contract's accesses by status.
//!
//! A tally counts stored statuses. An access whose end has come is terminated from that instant, before its expiry is
//! stored; a reader of a tally subtracts such accesses.

use gatehouse_core::{ContractId, Status, TenantName};

use crate::db::{Row, Tx};
use crate::error::StoreError;

/// Accesses by status: their numbers, or the changes of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally([i64; Status::ALL.len()]);

impl Tally {
    /// Number of accesses with this status.
    pub fn get(&self, status: Status) -> u64 {
        u64::try_from(self.0[status as usize]).unwrap_or_default()
    }

    /// Number of all accesses.
    pub fn total(&self) -> u64 {
        Status::ALL.into_iter().map(|status| self.get(status)).sum()
    }

    /// The stored number, which may be negative if it is wrong.
    pub(crate) fn written(&self, status: Status) -> i64 {
        self.0[status as usize]
    }

    /// Adds accesses of this status, or subtracts them.
    pub(crate) fn add(&mut self, status: Status, n: i64) {
        self.0[status as usize] += n;
    }

    /// Adds another tally.
    pub(crate) fn add_all(&mut self, other: &Self) {
        for (n, more) in self.0.iter_mut().zip(other.0) {
            *n += more;
        }
    }

    /// Reads five columns from this one on, in the order of `tally_columns`.
    pub(crate) fn read(row: &Row<'_>, column: usize) -> Result<Self, StoreError> {
        let mut tally = Self::default();
        for (n, status) in Status::ALL.into_iter().enumerate() {
            tally.add(status, row.integer(column + n)?);
        }
        Ok(tally)
    }
}

/// The columns of a tally, in the order of [`Status::ALL`].
macro_rules! tally_columns {
    () => {
        "t.n_pending_active, t.n_active, t.n_suspended, t.n_pending_terminate, t.n_terminated"
    };
}
pub(crate) use tally_columns;

/// Creates the tally of a new contract.
pub(crate) async fn create(
    tx: &Tx,
    tenant: &TenantName,
    contract_id: &ContractId,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO tally (tenant, contract_id, n_pending_active, n_active, n_suspended, \
               n_pending_terminate, n_terminated, n_reserved) VALUES (?1, ?2, 0, 0, 0, 0, 0, 0) \
               ON CONFLICT (tenant, contract_id) DO NOTHING";
    tx.execute(sql, &[tenant.as_str().into(), contract_id.as_str().into()]).await.map(drop)
}

/// Reserves a contract's quota for a batch; a negative number gives it back.
pub(crate) async fn reserve(
    tx: &Tx,
    tenant: &TenantName,
    contract_id: &ContractId,
    n: i64,
) -> Result<(), StoreError> {
    let sql = "UPDATE tally SET n_reserved = n_reserved + ?3 \
               WHERE tenant = ?1 AND contract_id = ?2";
    let values = [tenant.as_str().into(), contract_id.as_str().into(), n.into()];
    tx.execute(sql, &values).await.map(drop)
}

/// Number of a contract's accesses that batches have reserved.
pub(crate) async fn n_reserved(
    tx: &Tx,
    tenant: &TenantName,
    contract_id: &ContractId,
) -> Result<u64, StoreError> {
    let sql = "SELECT n_reserved FROM tally WHERE tenant = ?1 AND contract_id = ?2";
    let values = [tenant.as_str().into(), contract_id.as_str().into()];
    Ok(tx.row(sql, &values, |row| row.count(0)).await?.unwrap_or_default())
}

/// Adds a change to a contract's tally.
pub(crate) async fn add(
    tx: &Tx,
    tenant: &TenantName,
    contract_id: &ContractId,
    change: &Tally,
) -> Result<(), StoreError> {
    let sql = "UPDATE tally SET n_pending_active = n_pending_active + ?3, \
               n_active = n_active + ?4, n_suspended = n_suspended + ?5, \
               n_pending_terminate = n_pending_terminate + ?6, n_terminated = n_terminated + ?7 \
               WHERE tenant = ?1 AND contract_id = ?2";
    let mut values = vec![tenant.as_str().into(), contract_id.as_str().into()];
    values.extend(change.0.map(crate::db::Value::from));
    tx.execute(sql, &values).await.map(drop)
}
