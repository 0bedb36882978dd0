//! What changes of accesses mean for what is counted as it happens, and for what is due.
//!
//! A transaction that makes or changes accesses writes the counts after the accesses, and in one order: tallies by
//! contract, then days, then what is due. It locks accesses before, by their numbers. So transactions don't wait in a
//! circle, except for batches: a batch of changes locks accesses piece by piece, in the order of the request, and so does
//! a batch that takes over usernames of accesses whose ends have come. PostgreSQL ends such a circle, and the batch's
//! stretch is done again.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::try_join_all;
use gatehouse_core::{Access, ContractId, Status, TenantName};

use crate::counts::day;
use crate::counts::tally::{self, Tally};
use crate::db::Tx;
use crate::error::StoreError;
use crate::work_queue::{self, DueKey, DueKind};

/// What some changes add up to.
#[derive(Default)]
pub(crate) struct Moves {
    tallies: BTreeMap<ContractId, Tally>,
    /// How many accesses ended, by day.
    ended: BTreeMap<i64, u64>,
    /// Contracts, and the minutes by which accesses of theirs will have ended.
    ends: BTreeSet<(ContractId, i64)>,
}

impl Moves {
    /// Counts in an access that is new.
    pub(crate) fn open(&mut self, access: &Access) {
        self.tallies.entry(access.contract_id.clone()).or_default().add(access.status, 1);
        self.expect_end(access);
    }

    /// Counts in what has become of an access.
    pub(crate) fn change(&mut self, before: &Access, after: &Access) {
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

    /// Writes it down.
    pub(crate) async fn write(&self, tx: &Tx, tenant: &TenantName) -> Result<(), StoreError> {
        // Sent together, run one after the other.
        let tallies = self.tallies.iter().map(|(id, change)| tally::add(tx, tenant, id, change));
        try_join_all(tallies).await?;
        for (day, n) in &self.ended {
            day::add(tx, tenant, day::Kind::Ended, *day, *n).await?;
        }
        for (contract_id, minute) in &self.ends {
            expect_expiry(tx, tenant, contract_id, *minute).await?;
        }
        Ok(())
    }
}

/// Says that accesses of a contract will have ended by that minute.
///
/// It locks the row that is there: who finishes that row must see the end that is added to it now.
pub(crate) async fn expect_expiry(
    tx: &Tx,
    tenant: &TenantName,
    contract_id: &ContractId,
    minute: i64,
) -> Result<(), StoreError> {
    let name = contract_id.as_str().to_owned();
    let key = DueKey { tenant: tenant.clone(), kind: DueKind::Ends, name, part: minute };
    work_queue::add_locking(tx, &key, work_queue::due_at(minute)).await
}
