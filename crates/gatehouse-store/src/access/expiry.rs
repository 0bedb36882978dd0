//! Ends of accesses that have come, written down.
//!
//! An access whose end has come is over for everyone from that instant. Writing it down keeps the index
//! of what is due short, which every summary and every quota walks along. So whoever gives an access an
//! end also says, in the same transaction, that ends of its contract are due: one row for each minute,
//! however many accesses end in it.

use gatehouse_core::{Timestamp, lifecycle};

use crate::Store;
use crate::access::{Change, bulk};
use crate::counts::derived_counts::Moves;
use crate::db::{Line, Tx};
use crate::work_queue::{self, DueKey, Lease, NotRun};

/// What one step has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swept {
    /// Ends that it has written down.
    pub n: u64,
    /// Whether there is more to do of the same, which is due again.
    pub more: bool,
}

impl Store {
    /// Writes down ends of a contract that have come, at most this many.
    ///
    /// The lease is used up: what is left is due at once, behind what is due already.
    pub async fn sweep_ends(&self, lease: &Lease, n_max: u64) -> Result<Swept, NotRun> {
        let lease = lease.clone();
        self.db
            .write(Line::Of(lease.key.tenant.clone()), async move |tx| {
                sweep_in(&tx, &lease, n_max).await
            })
            .await
    }
}

const COME: &str = "SELECT number FROM access WHERE tenant = ?1 AND contract_id = ?2 \
                    AND status <> 'TERMINATED' AND end_at <= ?3 ORDER BY end_at LIMIT ?4";

pub(crate) async fn sweep_in(tx: &Tx, lease: &Lease, n_max: u64) -> Result<Swept, NotRun> {
    let DueKey { tenant, name: contract_id, part, .. } = &lease.key;
    let now = tx.now().await?;
    let come = async |by: Timestamp, n_max: u64| {
        let values = [tenant.as_str().into(), contract_id.as_str().into(), by.into(), n_max.into()];
        tx.rows(COME, &values, |row| row.count(0)).await
    };
    let numbers = come(now, n_max).await?;
    let (mut moves, mut changes) = (Moves::default(), Vec::new());
    for before in bulk::lock_accesses(tx, tenant, numbers).await? {
        // Whoever held it may have given it another end, or written this one down.
        let after = lifecycle::at(&before, now);
        if after != before {
            moves.change(&before, &after);
            changes.push(Change { access: after, password: None });
        }
    }
    bulk::update(tx, tenant, &changes).await?;
    moves.write(tx, tenant).await?;

    // The fence; and from here on nobody adds an end to this minute that the next look doesn't see.
    if !work_queue::lock(tx, lease).await? {
        return Err(NotRun::Lost);
    }
    let due_at = work_queue::due_at(*part);
    let more = !come(due_at, 1).await?.is_empty();
    let is_held = if more {
        // Not before its time, should the clock have been put back.
        work_queue::release(tx, lease, due_at.max(now)).await?
    } else {
        work_queue::finish(tx, lease).await?
    };
    if !is_held {
        return Err(NotRun::Lost);
    }
    Ok(Swept { n: changes.len() as u64, more })
}
