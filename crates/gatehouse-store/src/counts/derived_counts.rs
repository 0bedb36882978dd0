//! Effects of changed accesses on the derived counts, the counted sets and the work queue.
//!
//! A transaction that creates or changes accesses writes the counts after the accesses, in one order: tallies by
//! contract, then days, then counted sets, then the work queue. Before, it locks accesses in the order of their numbers. So transactions
//! don't deadlock, except for batches: a batch of changes locks accesses chunk by chunk, in the order of the request,
//! and so does a batch that takes over usernames of expired accesses. Parts of counted sets that are split or joined can
//! also cause one (`counted_sets/changes.rs`). PostgreSQL breaks such a deadlock, and the write is retried.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::try_join_all;
use gatehouse_core::event::Origin;
use gatehouse_core::{Access, ContractId, Status, TenantName};

use crate::access::Change;
use crate::counted_sets::changes::SetChanges;
use crate::counts::day;
use crate::counts::tally::{self, Tally};
use crate::db::Tx;
use crate::error::StoreError;
use crate::journal::new_events::NewEvents;
use crate::work_queue::{self, WorkKey, WorkKind};

/// Sum of the effects of several changes.
pub(crate) struct DerivedCounts {
    tallies: BTreeMap<ContractId, Tally>,
    /// Number of ended accesses, by day.
    ended: BTreeMap<i64, u64>,
    /// Contracts, and the minutes in which accesses of theirs end.
    ends: BTreeSet<(ContractId, i64)>,
    sets: SetChanges,
    /// `None` if the changes are not written to the journal.
    events: Option<NewEvents>,
}

impl DerivedCounts {
    /// The sum of no changes yet, of this transaction.
    pub(crate) fn of(tx: &Tx) -> Self {
        let (tallies, ended, ends, sets) = Default::default();
        Self { tallies, ended, ends, sets, events: tx.has_journal().then(NewEvents::default) }
    }

    /// Adds a new access.
    pub(crate) fn add_new(&mut self, number: u64, access: &Access, origin: &Origin) {
        self.sets.add_new(number, access);
        if let Some(events) = &mut self.events {
            events.add_new(number, access, origin);
        }
        self.tallies.entry(access.contract_id.clone()).or_default().add(access.status, 1);
        self.expect_end(access);
    }

    /// Adds a change of an access.
    pub(crate) fn change(
        &mut self,
        number: u64,
        before: &Access,
        change: &Change,
        origin: &Origin,
    ) {
        let after = &change.access;
        self.sets.change(number, before, after);
        if let Some(events) = &mut self.events {
            events.change(number, [before, after], change.password.is_some(), origin);
        }
        if before.status != after.status {
            let tally = self.tallies.entry(after.contract_id.clone()).or_default();
            tally.add(before.status, -1);
            tally.add(after.status, 1);
            if after.status == Status::Terminated
                && let Some(end) = after.end
            {
                *self.ended.entry(end.day()).or_default() += 1;
            }
        }
        if before.end != after.end {
            self.expect_end(after);
        }
    }

    fn expect_end(&mut self, access: &Access) {
        if access.status != Status::Terminated
            && let Some(end) = access.end
        {
            self.ends.insert((access.contract_id.clone(), work_queue::minute(end)));
        }
    }

    /// Writes the counts and adds to the work queue.
    pub(crate) async fn write(&self, tx: &Tx, tenant: &TenantName) -> Result<(), StoreError> {
        // Sent together, run one after the other.
        let tallies = self.tallies.iter().map(|(id, change)| tally::add(tx, tenant, id, change));
        try_join_all(tallies).await?;
        for (day, n) in &self.ended {
            day::add(tx, tenant, day::DayEvent::Ended, *day, *n).await?;
        }
        self.sets.write(tx, tenant).await?;
        for (contract_id, minute) in &self.ends {
            expect_expiry(tx, tenant, contract_id, *minute).await?;
        }
        match &self.events {
            Some(events) => events.write(tx, tenant).await,
            None => Ok(()),
        }
    }
}

/// Adds the expiry of a contract's accesses in this minute to the work queue.
///
/// Locks an existing row: the worker that finishes it must see the end that is added now.
pub(crate) async fn expect_expiry(
    tx: &Tx,
    tenant: &TenantName,
    contract_id: &ContractId,
    minute: i64,
) -> Result<(), StoreError> {
    let name = contract_id.as_str().to_owned();
    let key =
        WorkKey { tenant: tenant.clone(), kind: WorkKind::ExpiringAccesses, name, part: minute };
    work_queue::add_locking(tx, &key, work_queue::due_at(minute)).await
}
