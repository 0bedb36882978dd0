//! Up to which running number a tenant's counted sets are built.

use gatehouse_core::TenantName;

use crate::db::{Dialect, Tx};
use crate::error::StoreError;

/// The position of a tenant whose sets are complete.
pub(crate) const COMPLETE: u64 = i64::MAX as u64;

/// Adds a new tenant. On SQLite its sets are complete, because no other program can write to them. On PostgreSQL the
/// builder completes them, in one step.
pub(crate) async fn open(tx: &Tx, tenant: &TenantName) -> Result<(), StoreError> {
    // An older program deletes a tenant without its sets.
    for sql in [
        "DELETE FROM set_part WHERE tenant = ?1",
        "DELETE FROM set_sum WHERE tenant = ?1",
        "DELETE FROM set_build WHERE tenant = ?1",
        "DELETE FROM label_build WHERE tenant = ?1",
    ] {
        tx.execute(sql, &[tenant.as_str().into()]).await?;
    }
    let built_to = if tx.dialect() == Dialect::Sqlite { COMPLETE } else { 0 };
    let sql = "INSERT INTO set_build (tenant, built_to) VALUES (?1, ?2)";
    tx.execute(sql, &[tenant.as_str().into(), built_to.into()]).await.map(drop)
}

const READ: &str = "SELECT built_to FROM set_build WHERE tenant = ?1";

/// The number that a tenant's sets are built to.
pub(crate) async fn position(tx: &Tx, tenant: &TenantName) -> Result<u64, StoreError> {
    let found = tx.row(READ, &[tenant.as_str().into()], |row| row.count(0)).await?;
    Ok(found.unwrap_or_default())
}

/// The number that a tenant's sets are built to, which stays so until the transaction ends.
pub(crate) async fn lock_position(tx: &Tx, tenant: &TenantName) -> Result<u64, StoreError> {
    let present = position(tx, tenant).await?;
    if present == COMPLETE {
        return Ok(present);
    }
    // A tenant that an older program has created has no row yet.
    let sql =
        "INSERT INTO set_build (tenant, built_to) VALUES (?1, 0) ON CONFLICT (tenant) DO NOTHING";
    let values = [tenant.as_str().into()];
    tx.execute(sql, &values).await?;
    Ok(tx.lock_row(READ, &values, |row| row.count(0)).await?.unwrap_or_default())
}
