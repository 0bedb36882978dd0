//! Running numbers: every access has one in each set that it is listed by.
//!
//! Sets are nested: a job belongs to one contract, a contract to one offering, an offering's accesses to one tenant.
//! Numbers have no gaps, so a counter is also the set's exact size, and any page is an interval. The price is that a
//! tenant's creations are serialized: a transaction that numbers accesses, or changes what numbering depends on, first
//! locks the tenant's counter.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use gatehouse_core::TenantName;
use gatehouse_core::filter::ALTERNATIVES_MAX;
use gatehouse_core::list::{NumberedSet, SetSize};

use crate::db::{Db, Row, Tx, Value};
use crate::error::StoreError;

/// The word in the database for a set's kind.
pub(crate) fn kind(set: &NumberedSet) -> &'static str {
    match set {
        NumberedSet::Tenant => "tenant",
        NumberedSet::Offering(_) => "offering",
        NumberedSet::Contract(_) => "contract",
        NumberedSet::Job(_) => "job",
    }
}

/// A set's name in the database.
pub(crate) fn name(set: &NumberedSet) -> Cow<'_, str> {
    match set {
        NumberedSet::Tenant => "".into(),
        NumberedSet::Offering(id) => id.as_str().into(),
        NumberedSet::Contract(id) => id.as_str().into(),
        NumberedSet::Job(id) => id.to_string().into(),
    }
}

const READ: &str =
    "SELECT total, latest_at FROM counter WHERE tenant = ?1 AND kind = ?2 AND name = ?3";

/// Locks the tenant's counter, which serializes creations; `None` when the tenant doesn't exist.
pub(crate) async fn lock_tenant(
    tx: &Tx,
    tenant: &TenantName,
) -> Result<Option<SetSize>, StoreError> {
    let values = [tenant.as_str().into(), kind(&NumberedSet::Tenant).into(), "".into()];
    tx.lock_row(READ, &values, read).await
}

/// A set's counter, under the tenant's lock; `None` for a set without one.
pub(crate) async fn get(
    tx: &Tx,
    tenant: &TenantName,
    set: &NumberedSet,
) -> Result<Option<SetSize>, StoreError> {
    let name = name(set);
    let values = [tenant.as_str().into(), kind(set).into(), name.as_ref().into()];
    tx.row(READ, &values, read).await
}

/// Writes a set's counter, under the tenant's lock.
pub(crate) async fn put(
    tx: &Tx,
    tenant: &TenantName,
    set: &NumberedSet,
    size: SetSize,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO counter (tenant, kind, name, total, latest_at) \
               VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (tenant, kind, name) \
               DO UPDATE SET total = excluded.total, latest_at = excluded.latest_at";
    let name = name(set);
    let values = [
        tenant.as_str().into(),
        kind(set).into(),
        name.as_ref().into(),
        size.total.into(),
        size.latest_at.into(),
    ];
    tx.execute(sql, &values).await.map(drop)
}

/// Takes the next number of a Task, and locks the number until the commit; `None` when the tenant doesn't exist.
pub(crate) async fn next_task(tx: &Tx, tenant: &TenantName) -> Result<Option<u64>, StoreError> {
    let sql = "UPDATE counter SET total = total + 1 \
               WHERE tenant = ?1 AND kind = 'task' AND name = '' RETURNING total";
    tx.row(sql, &[tenant.as_str().into()], |row| row.count(0)).await
}

/// Creates the counter of a new tenant's Tasks.
pub(crate) async fn open_tasks(tx: &Tx, tenant: &TenantName) -> Result<(), StoreError> {
    let sql = "INSERT INTO counter (tenant, kind, name, total, latest_at) \
               VALUES (?1, 'task', '', 0, 0)";
    tx.execute(sql, &[tenant.as_str().into()]).await.map(drop)
}

/// Deletes the counter of a set without accesses.
pub(crate) async fn remove(
    tx: &Tx,
    tenant: &TenantName,
    set: &NumberedSet,
) -> Result<(), StoreError> {
    let sql = "DELETE FROM counter WHERE tenant = ?1 AND kind = ?2 AND name = ?3";
    let name = name(set);
    let values = [tenant.as_str().into(), kind(set).into(), name.as_ref().into()];
    tx.execute(sql, &values).await.map(drop)
}

/// Sizes of these sets, all of one moment, without those that have no counter.
pub(crate) async fn sizes(
    db: &Db,
    tenant: &TenantName,
    sets: &BTreeSet<NumberedSet>,
) -> Result<HashMap<NumberedSet, SetSize>, StoreError> {
    let names: Vec<_> = sets.iter().map(name).collect();
    let mut values: Vec<Value<'_>> = vec![tenant.as_str().into()];
    for (set, name) in sets.iter().zip(&names) {
        values.extend([kind(set).into(), Value::from(name.as_ref())]);
    }
    let sql = READ_SEVERAL[sets.len()].as_str();
    let read = |row: &Row<'_>| Ok((row.text(2)?, row.text(3)?, read(row)?));
    let found = db.rows(sql, &values, read).await?;
    let size_of = |set: &NumberedSet| {
        let is_its = |it: &&(String, String, SetSize)| it.0 == kind(set) && it.1 == name(set);
        found.iter().find(is_its).map(|it| (set.clone(), it.2))
    };
    Ok(sets.iter().filter_map(size_of).collect())
}

/// Most sets in one query: one for each alternative of a filter, and the tenant's.
const SETS_MAX: usize = ALTERNATIVES_MAX + 1;

/// One statement for each number of sets, because one statement reads one moment.
static READ_SEVERAL: LazyLock<[String; SETS_MAX + 1]> = LazyLock::new(|| {
    std::array::from_fn(|n_sets| {
        // A seek for each set: the results of an OR would be collected and sorted first.
        let one = |n: usize| {
            format!(
                "SELECT total, latest_at, kind, name FROM counter \
                 WHERE tenant = ?1 AND kind = ?{} AND name = ?{}",
                2 * n + 2,
                2 * n + 3
            )
        };
        (0..n_sets).map(one).collect::<Vec<_>>().join(" UNION ALL ")
    })
});

fn read(row: &Row<'_>) -> Result<SetSize, StoreError> {
    Ok(SetSize { total: row.count(0)?, latest_at: row.time(1)? })
}
