//! Checking the chain of a journal: which entry was altered, inserted or removed behind the server's back.
//!
//! Whatever is stored is read as it is: a value that can't be right is an entry that was altered, and ends no check.

use std::collections::BTreeSet;

use super::chain::{self, ChainKey, Mac, Numbered};
use super::{ESTATE, Journal, JournalEnds, JournalKind, beginning};
use crate::Store;
use crate::db::{Row, SnapshotFor, Tx};
use crate::error::StoreError;

/// Entries that are read at once.
const ENTRIES_AT_ONCE: u64 = 1000;

/// A journal whose chain was checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedJournal {
    /// Number of the last event.
    pub last: u64,
    /// Number of the last event that was deleted for its age.
    pub deleted_to: u64,
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
        number: i64,
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
        number: i64,
    },
    /// The stored numbers and MACs of both ends aren't as they were written.
    #[error("the numbers where it begins and ends were altered")]
    Ends,
    /// The stored ends are gone.
    #[error("the numbers where it begins and ends are gone")]
    NoEnds,
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

    /// Every journal that there is, or must be: those with ends, those with entries, and once all have begun, those of
    /// every tenant.
    pub async fn journals(&self) -> Result<Vec<Journal>, StoreError> {
        let mut journals = Vec::new();
        let have_begun = self.db.snapshot(SnapshotFor::Server(None), beginning::have_all_begun);
        let have_begun = have_begun.await?;
        for kind in JournalKind::ALL {
            let mut keys = BTreeSet::new();
            let all = "SELECT tenant FROM tenant";
            let ends = journal_sql!(kind, "SELECT tenant FROM " ends);
            for sql in [Some(ends), have_begun.then_some(all)].into_iter().flatten() {
                keys.extend(self.db.rows(sql, &[], |row| row.text(0)).await?);
            }
            if have_begun && kind == JournalKind::Audit {
                keys.insert(ESTATE.to_owned());
            }
            // Seeks from one tenant to the next: there may be very many entries.
            let sql = journal_sql!(kind, "SELECT MIN(tenant) FROM " entries " WHERE tenant > ?1");
            let mut last = String::new();
            while let Some(next) = self
                .db
                .row(sql, &[last.as_str().into()], |row| row.optional_text(0))
                .await?
                .flatten()
            {
                keys.insert(next.clone());
                last = next;
            }
            for key in keys {
                journals.push(Journal::with_key(kind, &key)?);
            }
        }
        Ok(journals)
    }

    /// Checks a journal, also that it continues a head that was kept; `None` where it hasn't begun, and needn't have.
    pub async fn check_journal(
        &self,
        journal: &Journal,
        key: &ChainKey,
        kept: Option<&JournalHead>,
    ) -> Result<Option<CheckedJournal>, StoreError> {
        let (journal, key, kept) = (journal.clone(), key.clone(), kept.cloned());
        let check = async move |tx: Tx| check(&tx, &journal, &key, kept).await;
        self.db.snapshot(SnapshotFor::Server(None), check).await
    }
}

async fn check(
    tx: &Tx,
    journal: &Journal,
    key: &ChainKey,
    kept: Option<JournalHead>,
) -> Result<Option<CheckedJournal>, StoreError> {
    let broken = |why| Ok(Some(CheckedJournal { first_break: Some(why), ..Default::default() }));
    let have_begun = beginning::have_all_begun(tx.clone()).await?;
    let ends = match super::read_ends(tx, journal).await {
        Ok(Some(ends)) => ends,
        Ok(None) if have_begun || has_entries(tx, journal).await? => {
            // Unless the tenant was deleted meanwhile.
            return match still_exists(tx, journal).await? {
                true => broken(ChainBreak::NoEnds),
                false => Ok(None),
            };
        }
        Ok(None) => return Ok(None),
        Err(StoreError::Unexpected(_)) => return broken(ChainBreak::Ends),
        Err(error) => return Err(error),
    };
    let mut checker = Checker::from(journal, key, &ends);
    // A head from before the oldest event can't be compared any more.
    checker.kept = kept.filter(|head| head.number > 0 && head.number >= ends.deleted_to);
    let is_signed = ends.are_signed(journal, key) || !have_begun;
    let mut first_break = (!is_signed).then_some(ChainBreak::Ends);
    first_break = first_break.or_else(|| checker.check_kept().err());
    let mut behind = i64::MIN;
    while first_break.is_none() {
        let sql = journal_sql!(
            journal.kind(),
            "SELECT " columns " FROM " entries
            " WHERE tenant = ?1 AND first > ?2 ORDER BY first LIMIT ?3"
        );
        let values = [journal.key().into(), behind.into(), ENTRIES_AT_ONCE.into()];
        let links = tx.rows(sql, &values, read_link).await?;
        let Some(last) = links.last() else { break };
        behind = last.first;
        first_break = links.iter().find_map(|link| checker.check(link).err());
    }
    let n_events = checker.at.saturating_sub(ends.deleted_to);
    let first_break = first_break.or_else(|| checker.check_end(&ends).err());
    let JournalEnds { last, deleted_to, .. } = ends;
    Ok(Some(CheckedJournal { last, deleted_to, n_events, first_break }))
}

async fn has_entries(tx: &Tx, journal: &Journal) -> Result<bool, StoreError> {
    let sql = journal_sql!(
        journal.kind(), "SELECT 1 FROM " entries " WHERE tenant = ?1 LIMIT 1"
    );
    Ok(tx.row(sql, &[journal.key().into()], |_| Ok(())).await?.is_some())
}

/// Whether a journal's tenant exists, or its entries do although it doesn't.
async fn still_exists(tx: &Tx, journal: &Journal) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM tenant WHERE tenant = ?1";
    Ok(journal.tenant().is_none()
        || tx.row(sql, &[journal.key().into()], |_| Ok(())).await?.is_some()
        || has_entries(tx, journal).await?)
}

/// A numbered entry, whatever is stored of it.
pub(super) struct Link {
    pub(super) first: i64,
    n: i64,
    pub(super) at: i64,
    bytes: Vec<u8>,
    mac: Vec<u8>,
}

pub(super) fn read_link(row: &Row<'_>) -> Result<Link, StoreError> {
    let (first, n, at) = (row.integer(0)?, row.integer(1)?, row.integer(2)?);
    Ok(Link { first, n, at, bytes: row.bytes(3)?, mac: row.bytes(4)? })
}

/// The end of the entries that were checked.
pub(super) struct Checker<'c> {
    journal: &'c Journal,
    key: &'c ChainKey,
    /// A head that was kept, until it is checked.
    kept: Option<JournalHead>,
    at: u64,
    mac: Mac,
}

impl<'c> Checker<'c> {
    /// A checker of the entries behind those that were deleted for their age.
    pub(super) fn from(journal: &'c Journal, key: &'c ChainKey, ends: &JournalEnds) -> Self {
        Self { journal, key, kept: None, at: ends.deleted_to, mac: ends.deleted_mac }
    }

    /// Number of the last checked event, and MAC of its entry.
    pub(super) fn position(&self) -> (u64, Mac) {
        (self.at, self.mac)
    }

    /// Compares the head that was kept, once its number is reached. A head is at the end of an entry.
    fn check_kept(&mut self) -> Result<(), ChainBreak> {
        let Some(head) = self.kept.take_if(|head| head.number <= self.at) else { return Ok(()) };
        match (head.number, head.mac) == (self.at, self.mac) {
            true => Ok(()),
            false => Err(ChainBreak::Replaced { number: head.number }),
        }
    }

    /// Checks the next entry.
    pub(super) fn check(&mut self, link: &Link) -> Result<(), ChainBreak> {
        let number = link.first;
        let altered = ChainBreak::Altered { number };
        let first = u64::try_from(number).map_err(|_| ChainBreak::Inserted { number })?;
        if first <= self.at {
            return Err(ChainBreak::Inserted { number });
        }
        if first > self.at + 1 {
            return Err(ChainBreak::Missing { from: self.at + 1, to: Some(first - 1) });
        }
        let n = u64::try_from(link.n).ok().filter(|n| *n > 0).ok_or(altered)?;
        let mac = chain::mac_of(&link.mac).map_err(|_| altered)?;
        let numbered = Numbered { first, n, at: link.at, bytes: &link.bytes };
        if !self.key.verify(self.journal, &self.mac, &numbered, &mac) {
            return Err(altered);
        }
        (self.at, self.mac) = (first + n - 1, mac);
        self.check_kept()
    }

    /// Checks that the last entry is the one that the ends name.
    fn check_end(&self, ends: &JournalEnds) -> Result<(), ChainBreak> {
        if self.at < ends.last {
            return Err(ChainBreak::Missing { from: self.at + 1, to: None });
        }
        if let Some(head) = &self.kept {
            return Err(ChainBreak::Replaced { number: head.number });
        }
        if self.at > ends.last {
            let number = i64::try_from(ends.last + 1).unwrap_or(i64::MAX);
            return Err(ChainBreak::Inserted { number });
        }
        if self.mac == ends.mac { Ok(()) } else { Err(ChainBreak::Ends) }
    }
}
