//! Outlets: where all tenants' events go, in order, besides the tenants' own hubs. A message broker is one.
//!
//! An outlet has a position in each tenant's journal. One server at a time works for a tenant, under a lease.

use super::{ESTATE, Journal};
use crate::Store;
use crate::db::WriteKind;
use crate::error::StoreError;
use crate::work_queue::{self, Lease, WorkError, WorkKind};

/// How far an outlet is in a tenant's journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutletPosition {
    /// Every event up to this number was delivered.
    pub position: u64,
    /// Events that were deleted for their age before they were delivered.
    pub n_missed: u64,
}

/// Rest of a tenant's events that is still to be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutletRest {
    /// More at once, under the same lease, which lasts so many milliseconds.
    Now(i64),
    /// More after so many milliseconds.
    After(i64),
    /// None, until there are new events.
    None,
}

impl Store {
    /// Adds an outlet, or the tenants that it lacks: tenants of a new outlet from now on, later ones from their first
    /// event.
    pub async fn open_outlet(&self, name: &str) -> Result<(), StoreError> {
        let name = name.to_owned();
        self.db
            .write(WriteKind::Server, async move |tx| {
                let sql = "SELECT 1 FROM outlet WHERE tenant = ?1 AND name = ?2";
                let marker = [ESTATE.into(), name.as_str().into()];
                let is_new = tx.row(sql, &marker, |_| Ok(())).await?.is_none();
                let sql = if is_new {
                    "INSERT INTO outlet (tenant, name, position, n_missed) \
                     SELECT tenant, ?1, last, 0 FROM journal WHERE true ON CONFLICT DO NOTHING"
                } else {
                    "INSERT INTO outlet (tenant, name, position, n_missed) \
                     SELECT tenant, ?1, 0, 0 FROM journal j WHERE NOT EXISTS \
                     (SELECT 1 FROM outlet o WHERE o.tenant = j.tenant AND o.name = ?1) \
                     ON CONFLICT DO NOTHING"
                };
                let n_added = tx.execute(sql, &[name.as_str().into()]).await?;
                if is_new {
                    let sql = "INSERT INTO outlet (tenant, name, position, n_missed) \
                               VALUES (?1, ?2, 0, 0) ON CONFLICT DO NOTHING";
                    tx.execute(sql, &marker).await?;
                }
                if n_added > 0 {
                    let now = tx.now().await?;
                    let sql = "INSERT INTO due (tenant, kind, name, part, due_at, is_leased, epoch) \
                               SELECT o.tenant, ?2, ?1, 0, CAST(?3 AS BIGINT), 0, CAST(?4 AS BIGINT) FROM outlet o \
                               WHERE o.name = ?1 AND o.tenant <> ?5 ON CONFLICT DO NOTHING";
                    let values = [
                        name.as_str().into(),
                        WorkKind::Outlet.as_str().into(),
                        now.into(),
                        work_queue::first_epoch(now).into(),
                        ESTATE.into(),
                    ];
                    tx.execute(sql, &values).await?;
                }
                Ok(())
            })
            .await
    }

    /// How far an outlet is that a lease is for; `None` when the tenant was deleted.
    pub async fn outlet_position(
        &self,
        lease: &Lease,
    ) -> Result<Option<OutletPosition>, StoreError> {
        let sql = "SELECT position, n_missed FROM outlet WHERE tenant = ?1 AND name = ?2";
        let values = [lease.key.tenant.as_str().into(), lease.key.name.as_str().into()];
        self.db
            .row(sql, &values, |row| {
                Ok(OutletPosition { position: row.count(0)?, n_missed: row.count(1)? })
            })
            .await
    }

    /// Stores how far an outlet is.
    pub async fn record_outlet(
        &self,
        lease: &Lease,
        reached: OutletPosition,
        rest: OutletRest,
    ) -> Result<(), WorkError> {
        let lease = lease.clone();
        self.db
            .write(WriteKind::Tenant(lease.key.tenant.clone()), async move |tx| {
                let tenant = &lease.key.tenant;
                // Before the rows of the outlet, like a transaction that numbers events and makes the outlet due.
                let ends = super::lock_ends(&tx, &Journal::Changes(tenant.clone())).await?;
                let sql = "UPDATE outlet SET position = ?3, n_missed = ?4 \
                           WHERE tenant = ?1 AND name = ?2";
                let values = [
                    tenant.as_str().into(),
                    lease.key.name.as_str().into(),
                    reached.position.into(),
                    reached.n_missed.into(),
                ];
                tx.execute(sql, &values).await?;
                let now = tx.now().await?;
                let has_more = ends.is_some_and(|ends| ends.last > reached.position);
                let is_held = match rest {
                    OutletRest::Now(milliseconds) => {
                        work_queue::hold(&tx, &lease, now.plus_milliseconds(milliseconds)).await?
                    }
                    OutletRest::After(milliseconds) => {
                        work_queue::release(&tx, &lease, now.plus_milliseconds(milliseconds))
                            .await?
                    }
                    OutletRest::None if has_more => work_queue::release(&tx, &lease, now).await?,
                    OutletRest::None => work_queue::release(&tx, &lease, super::hub::IDLE).await?,
                };
                if is_held { Ok(()) } else { Err(WorkError::LeaseLost) }
            })
            .await
    }

    /// Events of all tenants that an outlet hasn't delivered, and those that were deleted before it could.
    pub async fn outlet_backlog(&self, name: &str) -> Result<(u64, u64), StoreError> {
        let sql = "SELECT CAST(COALESCE(SUM(j.last - o.position), 0) AS BIGINT), \
                   CAST(COALESCE(SUM(o.n_missed), 0) AS BIGINT) \
                   FROM outlet o JOIN journal j ON j.tenant = o.tenant WHERE o.name = ?1";
        let values = [name.into()];
        let found = self.db.row(sql, &values, |row| Ok((row.count(0)?, row.count(1)?))).await?;
        Ok(found.unwrap_or_default())
    }
}
