//! Rows of parts: locked, read and written.
//!
//! The parts of a group leave no gap, so the part of a number is the last one that begins at or before it. A part may
//! be split or joined while a transaction waits for its lock; then it is looked up again.

use gatehouse_core::TenantName;
use gatehouse_core::counted_set::runs::Runs;
use gatehouse_core::counted_set::{CountedSet, GROUP_NUMBERS, group_of, group_start};

use super::{kind, name};
use crate::db::{Row, Tx, Value};
use crate::error::StoreError;

/// Most look-ups of a part that other transactions split or join meanwhile. A part that is still not found isn't there.
const TRIES_MAX: u32 = 20;

/// A part as it is stored.
pub(crate) struct Part {
    /// First number of its stretch.
    pub(crate) first: u64,
    /// Number behind its stretch.
    pub(crate) until: u64,
    /// Its members, as positions in its group.
    pub(crate) members: Runs,
}

const COVERING: &str = "SELECT first, until, bits FROM set_part WHERE tenant = ?1 AND kind = ?2 AND name = ?3 \
                        AND first <= ?4 AND first >= ?5 ORDER BY first DESC LIMIT 1";

const AT: &str = "SELECT first, until, bits FROM set_part WHERE tenant = ?1 AND kind = ?2 AND name = ?3 AND first = ?4";

/// Locks the part that covers a number. An empty part of the whole group is created where the group has none.
pub(crate) async fn lock(
    tx: &Tx,
    tenant: &TenantName,
    set: &CountedSet,
    number: u64,
) -> Result<Part, StoreError> {
    let start = group_start(group_of(number));
    let set_name = name(set);
    let key = [tenant.as_str().into(), kind(set).into(), Value::from(set_name.as_ref())];
    let values = [key[0], key[1], key[2], number.into(), start.into()];
    for _ in 0..TRIES_MAX {
        match tx.lock_row(COVERING, &values, read).await? {
            Some(part) if number < part.until => return Ok(part),
            // The part was split while this transaction waited for its lock.
            Some(_) => {}
            None => {
                // Another transaction may be creating it, or has just joined the part with its neighbour.
                let sql = "INSERT INTO set_part (tenant, kind, name, first, until, n, bits) \
                           SELECT ?1, ?2, ?3, ?4, ?5, 0, ?6 WHERE NOT EXISTS (SELECT 1 FROM set_part \
                           WHERE tenant = ?1 AND kind = ?2 AND name = ?3 AND first >= ?4 AND first < ?5) \
                           ON CONFLICT (tenant, kind, name, first) DO NOTHING";
                let empty = Runs::default().encode();
                let end = start + GROUP_NUMBERS;
                let values =
                    [key[0], key[1], key[2], start.into(), end.into(), empty.as_slice().into()];
                tx.execute(sql, &values).await?;
            }
        }
    }
    Err(StoreError::corrupt("a counted set has no part for a number"))
}

/// Locks the part that begins at a number; `None` if none does.
pub(crate) async fn lock_at(
    tx: &Tx,
    tenant: &TenantName,
    set: &CountedSet,
    first: u64,
) -> Result<Option<Part>, StoreError> {
    let name = name(set);
    let values = [tenant.as_str().into(), kind(set).into(), name.as_ref().into(), first.into()];
    tx.lock_row(AT, &values, read).await
}

/// Writes a part in place of the one that begins at the same number, if there is one.
pub(crate) async fn put(
    tx: &Tx,
    tenant: &TenantName,
    set: &CountedSet,
    part: &Part,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO set_part (tenant, kind, name, first, until, n, bits) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (tenant, kind, name, first) \
               DO UPDATE SET until = excluded.until, n = excluded.n, bits = excluded.bits";
    let (name, bits) = (name(set), part.members.encode());
    let values = [
        tenant.as_str().into(),
        kind(set).into(),
        name.as_ref().into(),
        part.first.into(),
        part.until.into(),
        u64::from(part.members.len()).into(),
        bits.as_slice().into(),
    ];
    tx.execute(sql, &values).await.map(drop)
}

/// Deletes the part that begins at a number.
pub(crate) async fn delete(
    tx: &Tx,
    tenant: &TenantName,
    set: &CountedSet,
    first: u64,
) -> Result<(), StoreError> {
    let sql = "DELETE FROM set_part WHERE tenant = ?1 AND kind = ?2 AND name = ?3 AND first = ?4";
    let name = name(set);
    let values = [tenant.as_str().into(), kind(set).into(), name.as_ref().into(), first.into()];
    tx.execute(sql, &values).await.map(drop)
}

/// Adds to the number of a set's members in a group. A label's sum of zero is deleted: labels have any number of values.
pub(crate) async fn add_to_sum(
    tx: &Tx,
    tenant: &TenantName,
    set: &CountedSet,
    group: u64,
    n: i64,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO set_sum (tenant, kind, name, grp, n) VALUES (?1, ?2, ?3, ?4, ?5) \
               ON CONFLICT (tenant, kind, name, grp) DO UPDATE SET n = set_sum.n + excluded.n";
    let name = name(set);
    let values =
        [tenant.as_str().into(), kind(set).into(), name.as_ref().into(), group.into(), n.into()];
    tx.execute(sql, &values).await?;
    if n < 0 && set.label_key().is_some() {
        let sql = "DELETE FROM set_sum \
                   WHERE tenant = ?1 AND kind = ?2 AND name = ?3 AND grp = ?4 AND n = 0";
        tx.execute(sql, &values[..4]).await?;
    }
    Ok(())
}

fn read(row: &Row<'_>) -> Result<Part, StoreError> {
    let members = Runs::decode(&row.bytes(2)?).map_err(StoreError::corrupt)?;
    Ok(Part { first: row.count(0)?, until: row.count(1)?, members })
}
