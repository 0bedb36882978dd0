//! Expiry: storing the status TERMINATED for accesses whose end has come.
//!
//! An access whose end has come counts as TERMINATED from that instant. Storing that keeps the index of expiring
//! accesses short, which every summary and every quota scans. So a transaction that gives an access an end also adds
//! work to the queue: one row for each contract and minute, however many accesses end in it.

use gatehouse_core::event::{Cause, Origin};
use gatehouse_core::{Timestamp, lifecycle};

use crate::Store;
use crate::access::{Change, bulk};
use crate::counts::derived_counts::DerivedCounts;
use crate::db::{Tx, WriteKind};
use crate::work_queue::{self, Lease, WorkError, WorkKey};

/// Result of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpiryResult {
    /// Accesses that became TERMINATED.
    pub n: u64,
    /// Whether more accesses are left, which are due again.
    pub more: bool,
}

impl Store {
    /// Stores the expiry of a contract's accesses whose end has come, at most `n_max`.
    ///
    /// The lease is used up: accesses that are left are due at once, behind all work that is due already.
    pub async fn expire_accesses(
        &self,
        lease: &Lease,
        n_max: u64,
    ) -> Result<ExpiryResult, WorkError> {
        let lease = lease.clone();
        self.db
            .write(WriteKind::Tenant(lease.key.tenant.clone()), async move |tx| {
                sweep_in(&tx, &lease, n_max).await
            })
            .await
    }
}

const COME: &str = "SELECT number FROM access WHERE tenant = ?1 AND contract_id = ?2 \
                    AND status <> 'TERMINATED' AND end_at <= ?3 ORDER BY end_at LIMIT ?4";

pub(crate) async fn sweep_in(
    tx: &Tx,
    lease: &Lease,
    n_max: u64,
) -> Result<ExpiryResult, WorkError> {
    let WorkKey { tenant, name: contract_id, part, .. } = &lease.key;
    let now = tx.now().await?;
    let come = async |by: Timestamp, n_max: u64| {
        let values = [tenant.as_str().into(), contract_id.as_str().into(), by.into(), n_max.into()];
        tx.rows(COME, &values, |row| row.count(0)).await
    };
    let numbers = come(now, n_max).await?;
    let origin = Origin::of(Cause::Expiry);
    let (mut counts, mut changes) = (DerivedCounts::of(tx), Vec::new());
    for (number, before) in bulk::lock_accesses(tx, tenant, numbers).await? {
        // Another transaction may have changed the end, or stored the expiry, before the lock was granted.
        let after = lifecycle::at(&before, now);
        if after != before {
            let change = Change { access: after, password: None };
            counts.change(number, &before, &change, &origin);
            changes.push(change);
        }
    }
    bulk::update(tx, tenant, &changes).await?;
    counts.write(tx, tenant).await?;

    // Checks the lease; and from here on no transaction adds an end to this minute that the next query doesn't see.
    if !work_queue::lock(tx, lease).await? {
        return Err(WorkError::LeaseLost);
    }
    let due_at = work_queue::due_at(*part);
    let more = !come(due_at, 1).await?.is_empty();
    let is_held = if more {
        // Not before its time, should the clock have been set back.
        work_queue::release(tx, lease, due_at.max(now)).await?
    } else {
        work_queue::finish(tx, lease).await?
    };
    if !is_held {
        return Err(WorkError::LeaseLost);
    }
    Ok(ExpiryResult { n: changes.len() as u64, more })
}
