//! Rows of parts: locked, read and written.
//!
//! The parts of a group leave no gap, so the part of a number is the last one that begins at or before it. A part may
//! be split or joined while a transaction waits for its lock; then it is looked up again.

use std::collections::BTreeMap;

use gatehouse_core::TenantName;
use gatehouse_core::counted_set::runs::Runs;
use gatehouse_core::counted_set::{CountedSet, GROUP_NUMBERS, group_of, group_start};

use super::{kind, name};
use crate::access::bulk::as_integer;
use crate::db::{Row, Tx, TypedValue, Value};
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

/// Locks the parts that cover any of the numbers, each of which is looked up by itself: PostgreSQL can't choose to read
/// the whole set instead.
const LOCK_EACH: &str = "SELECT part.first, part.until, part.bits \
    FROM (SELECT DISTINCT (SELECT s.first FROM set_part s \
        WHERE s.tenant = ?1 AND s.kind = ?2 AND s.name = ?3 AND s.first <= it.number AND s.first >= it.start \
        ORDER BY s.first DESC LIMIT 1) AS first FROM unnest(?4::bigint[], ?5::bigint[]) AS it (number, start) \
        ORDER BY 1) AS covering \
    CROSS JOIN LATERAL (SELECT s.first, s.until, s.bits FROM set_part s \
        WHERE s.tenant = ?1 AND s.kind = ?2 AND s.name = ?3 AND s.first = covering.first FOR UPDATE) AS part";

/// Locks those parts between two numbers that cover any of the given ones, which are in order: more of them are at or
/// before the part's last number than before its first.
const LOCK_AMONG: &str = "SELECT first, until, bits FROM set_part \
    WHERE tenant = ?1 AND kind = ?2 AND name = ?3 AND first >= ?4 AND first <= ?5 \
    AND width_bucket(until - 1, ?6::bigint[]) > width_bucket(first - 1, ?6::bigint[]) ORDER BY first FOR UPDATE";

/// To look up the part of a number costs as much as to look at the parts of about so many numbers.
const LOOK_UP_NUMBERS: u64 = 16_384;

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

/// Locks the parts that cover these numbers, which are in order and two at least, in the order of the parts. A part that
/// another transaction splits or joins meanwhile can be missing, and is to be locked by itself. On SQLite, where a
/// statement is no round trip, all are.
pub(crate) async fn lock_many(
    tx: &Tx,
    tenant: &TenantName,
    set: &CountedSet,
    numbers: &[u64],
) -> Result<BTreeMap<u64, Part>, StoreError> {
    let (Some(session), [first, .., last]) = (tx.postgres(), numbers) else {
        return Ok(BTreeMap::new());
    };
    let starts = numbers.iter().map(|it| as_integer(group_start(group_of(*it))));
    let starts: Vec<i64> = starts.collect();
    let name = name(set);
    let is_dense = numbers.len() as u64 >= (last - first) / LOOK_UP_NUMBERS;
    let numbers: Vec<i64> = numbers.iter().map(|it| as_integer(*it)).collect();
    let rows = if is_dense {
        let ends = [starts[0], as_integer(*last)].map(Value::from);
        let values: [&dyn TypedValue; 6] =
            [&tenant.as_str(), &kind(set), &name.as_ref(), &ends[0], &ends[1], &numbers];
        session.bulk(LOCK_AMONG, &values).await?
    } else {
        let values: [&dyn TypedValue; 5] =
            [&tenant.as_str(), &kind(set), &name.as_ref(), &numbers, &starts];
        session.bulk(LOCK_EACH, &values).await?
    };
    let parts = rows.iter().map(|row| read(&Row::Postgres(row)).map(|part| (part.first, part)));
    parts.collect()
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

/// Writes parts in place of those that begin at the same numbers.
pub(crate) async fn put_many(
    tx: &Tx,
    tenant: &TenantName,
    set: &CountedSet,
    parts: &[Part],
) -> Result<(), StoreError> {
    let Some(session) = tx.postgres().filter(|_| parts.len() > 1) else {
        for part in parts {
            put(tx, tenant, set, part).await?;
        }
        return Ok(());
    };
    let sql = "INSERT INTO set_part (tenant, kind, name, first, until, n, bits) SELECT ?1::text, ?2::text, ?3::text, * \
               FROM unnest(?4::bigint[], ?5::bigint[], ?6::bigint[], ?7::bytea[]) \
               ON CONFLICT (tenant, kind, name, first) \
               DO UPDATE SET until = excluded.until, n = excluded.n, bits = excluded.bits";
    let column =
        |of: fn(&Part) -> u64| parts.iter().map(|it| as_integer(of(it))).collect::<Vec<_>>();
    let bits: Vec<Vec<u8>> = parts.iter().map(|it| it.members.encode()).collect();
    let bits: Vec<&[u8]> = bits.iter().map(Vec::as_slice).collect();
    let (name, first, until) = (name(set), column(|it| it.first), column(|it| it.until));
    let n = column(|it| it.members.len().into());
    session
        .bulk(sql, &[&tenant.as_str(), &kind(set), &name.as_ref(), &first, &until, &n, &bits])
        .await
        .map(drop)
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
    let members = Runs::decode(row.bytes_ref(2)?).map_err(StoreError::corrupt)?;
    let part = Part { first: row.count(0)?, until: row.count(1)?, members };
    let start = group_start(group_of(part.first));
    let stretch = part.first..part.until;
    let [begin, end] = [part.members.runs().first(), part.members.runs().last()];
    let is_inside = part.until <= start + GROUP_NUMBERS
        && begin.is_none_or(|run| stretch.contains(&(start + u64::from(run.start))))
        && end.is_none_or(|run| start + u64::from(run.end) <= part.until);
    if !is_inside || stretch.is_empty() {
        return Err(StoreError::corrupt("a part of a counted set has members outside its stretch"));
    }
    Ok(part)
}
