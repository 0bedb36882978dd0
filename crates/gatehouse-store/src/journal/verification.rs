//! Checking the chain of a journal: which entry was altered, inserted or removed behind the server's back.

use super::chain::{self, ChainKey, Mac, Numbered};
use super::unfolding::{StoredEntry, read_entry};
use super::{Journal, JournalKind};
use crate::Store;
use crate::db::{Row, SnapshotFor};
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

/// The end of a journal at some time: kept elsewhere, it shows whether the journal was replaced as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalHead {
    /// The journal.
    pub journal: Journal,
    /// Number of its last event.
    pub number: u64,
    /// MAC of that event's entry.
    pub mac: Mac,
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
    /// The journal isn't the one whose head was kept.
    #[error(
        "event {number} isn't the one that the kept head names: the journal was replaced, or was restored from a \
         backup"
    )]
    Replaced {
        /// Number of the head.
        number: u64,
    },
    /// An entry isn't as it was written.
    #[error("the entry of event {number} was altered, or an entry right before it was")]
    Altered {
        /// Number of its first event.
        number: u64,
    },
}

impl ChainBreak {
    fn replaced(head: &JournalHead) -> Self {
        Self::Replaced { number: head.number }
    }
}

fn missing_to(to: Option<u64>) -> String {
    to.map_or_else(String::new, |to| format!(" up to number {to}"))
}

impl Store {
    /// The heads of all journals: of tenants by name, and of the estate.
    pub async fn journal_heads(&self) -> Result<Vec<JournalHead>, StoreError> {
        let mut heads = Vec::new();
        for kind in JournalKind::ALL {
            let sql = journal_sql!(kind, "SELECT tenant, last, mac FROM " ends " ORDER BY tenant");
            let read = |row: &Row<'_>| {
                let journal = Journal::with_key(kind, row.text_ref(0)?)?;
                let mac = chain::mac_of(row.bytes_ref(2)?)?;
                Ok(JournalHead { journal, number: row.count(1)?, mac })
            };
            heads.extend(self.db.rows(sql, &[], read).await?);
        }
        Ok(heads)
    }

    /// Checks a journal, also that it has the entries up to a head that was kept; `None` where it hasn't begun.
    pub async fn check_journal(
        &self,
        journal: &Journal,
        key: &ChainKey,
        kept: Option<&JournalHead>,
    ) -> Result<Option<CheckedJournal>, StoreError> {
        let (journal, key, kept) = (journal.clone(), key.clone(), kept.cloned());
        let checked = self.db.snapshot(SnapshotFor::Server(None), async move |tx| {
            let Some(ends) = super::read_ends(&tx, &journal).await? else { return Ok(None) };
            let (at, mac) = (ends.deleted_to, ends.deleted_mac);
            // A head from before the oldest entry says nothing any more.
            let kept = kept.filter(|head| head.number > 0 && head.number >= at);
            let mut checker = Checker { journal: &journal, key: &key, kept, at, mac };
            let mut first_break = checker.check_kept().err();
            let mut behind = 0;
            while first_break.is_none() {
                let sql = journal_sql!(
                    journal.kind(),
                    "SELECT " columns " FROM " entries
                    " WHERE tenant = ?1 AND first > ?2 ORDER BY first LIMIT ?3"
                );
                let values = [journal.key().into(), behind.into(), ENTRIES_AT_ONCE.into()];
                let entries = tx.rows(sql, &values, read_entry).await?;
                let Some(last) = entries.last() else { break };
                behind = last.first;
                first_break = entries.iter().find_map(|entry| checker.check(entry).err());
            }
            let is_cut = checker.at < ends.last;
            let is_longer = checker.at > ends.last || checker.mac != ends.mac;
            let is_replaced = checker.kept.as_ref().filter(|head| head.number > ends.last);
            let at_end = match (is_cut, is_longer) {
                _ if is_replaced.is_some() => is_replaced.map(ChainBreak::replaced),
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
    journal: &'c Journal,
    key: &'c ChainKey,
    /// A head that was kept, until it is checked.
    kept: Option<JournalHead>,
    at: u64,
    mac: Mac,
}

impl Checker<'_> {
    /// Compares the head that was kept, once its number is reached. A head is at the end of an entry.
    fn check_kept(&mut self) -> Result<(), ChainBreak> {
        let Some(head) = self.kept.take_if(|head| head.number <= self.at) else { return Ok(()) };
        match (head.number, head.mac) == (self.at, self.mac) {
            true => Ok(()),
            false => Err(ChainBreak::replaced(&head)),
        }
    }

    fn check(&mut self, entry: &StoredEntry) -> Result<(), ChainBreak> {
        if entry.first <= self.at {
            return Err(ChainBreak::Inserted { number: entry.first });
        }
        if entry.first > self.at + 1 {
            return Err(ChainBreak::Missing { from: self.at + 1, to: Some(entry.first - 1) });
        }
        let (first, n, at) = (entry.first, entry.n, entry.at.as_millisecond());
        let numbered = Numbered { first, n, at, bytes: &entry.bytes };
        if !self.key.verify(self.journal, &self.mac, &numbered, &entry.mac) {
            return Err(ChainBreak::Altered { number: entry.first });
        }
        (self.at, self.mac) = (entry.first + entry.n - 1, entry.mac);
        self.check_kept()
    }
}
