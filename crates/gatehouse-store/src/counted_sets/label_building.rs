//! Building the sets of labels.
//!
//! An operator can change the keys that a tenant filters by at any time. A new key's sets are built behind the tenant's
//! running numbers, as those of statuses are; a removed key's sets are deleted, a few parts a step. A transaction that
//! writes labels holds a shared lock on the tenant until it ends, and the builder an exclusive one for each step. So
//! the builder never passes a number whose labels another transaction is changing.

use std::collections::BTreeSet;

use gatehouse_core::counted_set::{self, CountedSet};
use gatehouse_core::list::NumberedSet;
use gatehouse_core::{LabelKey, TenantName};

use super::changes::SetChanges;
use super::label_build::{LabelBuild, put, read, read_keys};
use super::position::COMPLETE;
use crate::access::{columns, read_numbered};
use crate::counts::counter;
use crate::db::{Db, Tx};
use crate::error::StoreError;

/// Parts and sums to delete in one step.
const STEP_ROWS: u64 = 1000;

/// The next tenant behind this one with a key whose sets are not complete.
pub(crate) async fn next_unbuilt(db: &Db, behind: &str) -> Result<Option<TenantName>, StoreError> {
    let sql = "SELECT tenant FROM label_build WHERE built_to <> ?1 AND tenant > ?2 \
               ORDER BY tenant LIMIT 1";
    db.row(sql, &[COMPLETE.into(), behind.into()], |row| row.parsed(0)).await
}

/// Takes one step with the first of a tenant's keys whose sets are not complete: builds up to `n_max` accesses, or
/// deletes some parts.
pub(crate) async fn step(tx: &Tx, tenant: &TenantName, n_max: u64) -> Result<(), StoreError> {
    let declared = lock_tenant(tx, tenant).await?;
    let unbuilt = |(_, build): &(LabelKey, LabelBuild)| *build != LabelBuild::BuiltTo(COMPLETE);
    let Some((key, build)) = read(tx, tenant).await?.into_iter().find(unbuilt) else {
        return Ok(());
    };
    match build {
        LabelBuild::BuiltTo(built_to) => build_step(tx, tenant, &key, built_to, n_max).await,
        LabelBuild::Deleting => delete_step(tx, tenant, &key, &declared).await,
    }
}

/// Locks the tenant against transactions that write labels; returns the keys that it filters by. A tenant that was
/// deleted has none.
async fn lock_tenant(tx: &Tx, tenant: &TenantName) -> Result<BTreeSet<LabelKey>, StoreError> {
    let sql = "SELECT label_keys FROM tenant WHERE tenant = ?1";
    let keys = tx.lock_row(sql, &[tenant.as_str().into()], |row| read_keys(row, 0)).await?;
    Ok(keys.unwrap_or_default())
}

/// Adds the labels of the next accesses to a key's sets.
async fn build_step(
    tx: &Tx,
    tenant: &TenantName,
    key: &LabelKey,
    built_to: u64,
    n_max: u64,
) -> Result<(), StoreError> {
    // A creation of labelled accesses waits for this transaction, and has higher numbers.
    let counter = counter::get(tx, tenant, &NumberedSet::Tenant).await?;
    let total = counter.map_or(0, |counter| counter.total);
    let to = total.min(built_to.saturating_add(n_max)).max(built_to);
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM access WHERE tenant = ?1 AND number > ?2 AND number <= ?3 AND labels IS NOT NULL \
         ORDER BY number"
    );
    let values = [tenant.as_str().into(), built_to.into(), to.into()];
    let mut changes = SetChanges::default();
    for (number, access) in tx.rows(sql, &values, read_numbered).await? {
        let of_key = |set: &CountedSet| set.label_key() == Some(key);
        for set in counted_set::sets_of(&access).into_iter().filter(of_key) {
            changes.set(set, number, true);
        }
    }
    changes.write_all(tx, tenant).await?;
    let position = if to == total { COMPLETE } else { to };
    put(tx, tenant, key, i64::try_from(position).map_err(StoreError::corrupt)?).await
}

/// Deletes parts and sums of a key's sets. After the last of them the key is built again if the tenant filters by it
/// once more, and forgotten otherwise.
async fn delete_step(
    tx: &Tx,
    tenant: &TenantName,
    key: &LabelKey,
    declared: &BTreeSet<LabelKey>,
) -> Result<(), StoreError> {
    let values = [tenant.as_str().into(), key.as_str().into(), STEP_ROWS.into()];
    let mut n_deleted = 0;
    // A key has no `=`, and names are ordered by their bytes: those that begin with the key and `=` end before `>`.
    for sql in [
        "DELETE FROM set_part WHERE tenant = ?1 AND kind = 'label' AND (name, first) IN \
         (SELECT name, first FROM set_part WHERE tenant = ?1 AND kind = 'label' \
         AND name >= ?2 || '=' AND name < ?2 || '>' LIMIT ?3)",
        "DELETE FROM set_sum WHERE tenant = ?1 AND kind = 'label' AND (name, grp) IN \
         (SELECT name, grp FROM set_sum WHERE tenant = ?1 AND kind = 'label' \
         AND name >= ?2 || '=' AND name < ?2 || '>' LIMIT ?3)",
        "DELETE FROM set_part WHERE tenant = ?1 AND kind = 'label-key' AND (name, first) IN \
         (SELECT name, first FROM set_part WHERE tenant = ?1 AND kind = 'label-key' \
         AND name = ?2 LIMIT ?3)",
        "DELETE FROM set_sum WHERE tenant = ?1 AND kind = 'label-key' AND (name, grp) IN \
         (SELECT name, grp FROM set_sum WHERE tenant = ?1 AND kind = 'label-key' \
         AND name = ?2 LIMIT ?3)",
    ] {
        n_deleted += tx.execute(sql, &values).await?;
    }
    if n_deleted > 0 {
        return Ok(());
    }
    if declared.contains(key) {
        return put(tx, tenant, key, 0).await;
    }
    let sql = "DELETE FROM label_build WHERE tenant = ?1 AND label_key = ?2";
    tx.execute(sql, &[tenant.as_str().into(), key.as_str().into()]).await.map(drop)
}
