//! Checking the chain of a tenant's journal: which entry was altered, inserted or removed behind the server's back.

use gatehouse_core::TenantName;

use super::chain::{ChainKey, Mac, Numbered};
use super::unfolding::{StoredEntry, entry_columns, read_entry};
use crate::Store;
use crate::db::SnapshotFor;
use crate::error::StoreError;

/// Entries that are read at once.
const ENTRIES_AT_ONCE: u64 = 1000;

/// A journal whose chain was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedJournal {
    /// Number of the last event.
    pub last: u64,
    /// MAC of its entry.
    pub mac: Mac,
    /// Number of checked events.
    pub n_events: u64,
    /// The first break of the chain.
    pub first_break: Option<ChainBreak>,
}

/// A break of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainBreak {
    /// Events are missing.
    #[error("the events from number {from} on are missing{}", missing_to(*to))]
    Missing {
        /// Number of the first missing event.
        from: u64,
        /// Number of the last one, if any is left behind it.
        to: Option<u64>,
    },
    /// An entry has numbers that another one has, or that come behind the last one.
    #[error("the entry of event {number} was inserted")]
    Inserted {
        /// Number of its first event.
        number: u64,
    },
    /// An entry isn't as it was written.
    #[error("the entry of event {number} was altered, or an entry right before it was")]
    Altered {
        /// Number of its first event.
        number: u64,
    },
}

fn missing_to(to: Option<u64>) -> String {
    to.map_or_else(String::new, |to| format!(" up to number {to}"))
}

impl Store {
    /// Checks a tenant's journal; `None` for a tenant without one.
    pub async fn check_journal(
        &self,
        tenant: &TenantName,
        key: &ChainKey,
    ) -> Result<Option<CheckedJournal>, StoreError> {
        let (name, key) = (tenant.clone(), key.clone());
        let checked = self.db.snapshot(SnapshotFor::Server(None), async move |tx| {
            let Some(ends) = super::read_ends(&tx, &name).await? else { return Ok(None) };
            let mut checker =
                Checker { tenant: &name, key: &key, at: ends.deleted_to, mac: ends.deleted_mac };
            let mut first_break = None;
            let mut behind = 0;
            while first_break.is_none() {
                let sql = concat!(
                    "SELECT ",
                    entry_columns!(),
                    " FROM event WHERE tenant = ?1 AND first > ?2 ORDER BY first LIMIT ?3"
                );
                let values = [name.as_str().into(), behind.into(), ENTRIES_AT_ONCE.into()];
                let entries = tx.rows(sql, &values, read_entry).await?;
                let Some(last) = entries.last() else { break };
                behind = last.first;
                first_break = entries.iter().find_map(|entry| checker.check(entry).err());
            }
            let is_cut = checker.at < ends.last;
            let is_longer = checker.at > ends.last || checker.mac != ends.mac;
            let at_end = match (is_cut, is_longer) {
                (true, _) => Some(ChainBreak::Missing { from: checker.at + 1, to: None }),
                (false, true) => Some(ChainBreak::Inserted { number: ends.last + 1 }),
                (false, false) => None,
            };
            Ok(Some(CheckedJournal {
                last: ends.last,
                mac: ends.mac,
                n_events: checker.at.saturating_sub(ends.deleted_to),
                first_break: first_break.or(at_end),
            }))
        });
        checked.await
    }
}

/// The end of the entries that were checked.
struct Checker<'c> {
    tenant: &'c TenantName,
    key: &'c ChainKey,
    at: u64,
    mac: Mac,
}

impl Checker<'_> {
    fn check(&mut self, entry: &StoredEntry) -> Result<(), ChainBreak> {
        if entry.first <= self.at {
            return Err(ChainBreak::Inserted { number: entry.first });
        }
        if entry.first > self.at + 1 {
            return Err(ChainBreak::Missing { from: self.at + 1, to: Some(entry.first - 1) });
        }
        let (first, n, at) = (entry.first, entry.n, entry.at.as_millisecond());
        let numbered = Numbered { first, n, at, bytes: &entry.bytes };
        if !self.key.verify(self.tenant, &self.mac, &numbered, &entry.mac) {
            return Err(ChainBreak::Altered { number: entry.first });
        }
        (self.at, self.mac) = (entry.first + entry.n - 1, entry.mac);
        Ok(())
    }
}
