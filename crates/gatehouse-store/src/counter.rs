//! Running numbers: every access has one in each set that it is listed by.
//!
//! The sets are nested: a job belongs to one contract, a contract to one offering, an offering's
//! accesses to one tenant. Numbers have no gaps, so a counter is also the set's exact size, and any
//! page of it is an interval. The price is that a tenant's creations take turns: who numbers, and who
//! changes what numbering depends on, first locks the tenant's own counter.

use gatehouse_core::{TenantName, Timestamp};

use crate::db::Tx;
use crate::error::StoreError;

/// A set of accesses that has running numbers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Set {
    Tenant,
    Offering(String),
    Contract(String),
    Job(String),
}

impl Set {
    fn kind(&self) -> &'static str {
        match self {
            Self::Tenant => "tenant",
            Self::Offering(_) => "offering",
            Self::Contract(_) => "contract",
            Self::Job(_) => "job",
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Tenant => "",
            Self::Offering(name) | Self::Contract(name) | Self::Job(name) => name,
        }
    }
}

/// The last number that was given out, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counter {
    pub(crate) total: u64,
    pub(crate) latest_at: Timestamp,
}

const READ: &str =
    "SELECT total, latest_at FROM counter WHERE tenant = ?1 AND kind = ?2 AND name = ?3";

/// Locks the tenant against everyone else who numbers; `None` when there is no such tenant.
pub(crate) async fn lock_tenant(
    tx: &Tx,
    tenant: &TenantName,
) -> Result<Option<Counter>, StoreError> {
    let set = Set::Tenant;
    let values = [tenant.as_str().into(), set.kind().into(), set.name().into()];
    tx.lock_row(READ, &values, read).await
}

/// A set's counter, under the tenant's lock; a set that nobody has counted yet has none.
pub(crate) async fn get(
    tx: &Tx,
    tenant: &TenantName,
    set: &Set,
) -> Result<Option<Counter>, StoreError> {
    let values = [tenant.as_str().into(), set.kind().into(), set.name().into()];
    tx.row(READ, &values, read).await
}

/// Writes a set's counter, under the tenant's lock.
pub(crate) async fn put(
    tx: &Tx,
    tenant: &TenantName,
    set: &Set,
    counter: Counter,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO counter (tenant, kind, name, total, latest_at) \
               VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (tenant, kind, name) \
               DO UPDATE SET total = excluded.total, latest_at = excluded.latest_at";
    let values = [
        tenant.as_str().into(),
        set.kind().into(),
        set.name().into(),
        counter.total.into(),
        counter.latest_at.into(),
    ];
    tx.execute(sql, &values).await.map(drop)
}

/// Forgets a set that has no accesses.
pub(crate) async fn remove(tx: &Tx, tenant: &TenantName, set: &Set) -> Result<(), StoreError> {
    let sql = "DELETE FROM counter WHERE tenant = ?1 AND kind = ?2 AND name = ?3";
    let values = [tenant.as_str().into(), set.kind().into(), set.name().into()];
    tx.execute(sql, &values).await.map(drop)
}

fn read(row: &crate::db::Row<'_>) -> Result<Counter, StoreError> {
    Ok(Counter { total: row.count(0)?, latest_at: row.time(1)? })
}
