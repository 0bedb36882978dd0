//! The journals: of each tenant, an event for every change of an access and of a Task's state; and its audit, with the
//! changes of its setup, its tokens, and refused attempts. The estate has an audit too, which outlives the tenants.
//!
//! A change writes its entry in its own transaction, without a number, so that writers don't wait for each other. After
//! the commit a short transaction numbers what has been committed, in an order in which the changes of one access never
//! swap, and chains the entries: each has a MAC of its bytes and of the MAC before, with a key that is derived from the
//! master key. A number is given once and never skipped, so a reader who has every number up to the last one has
//! missed nothing.

#[macro_use]
mod sql;

pub(crate) mod audit;
pub(crate) mod beginning;
pub(crate) mod chain;
pub(crate) mod feed;
pub(crate) mod history;
pub(crate) mod hub;
pub(crate) mod last_events;
pub(crate) mod new_events;
pub(crate) mod numbering;
pub(crate) mod outlet;
pub(crate) mod pruning;
pub(crate) mod unfolding;
pub(crate) mod verification;

use std::time::Duration;

use gatehouse_core::TenantName;

use crate::db::{Row, SNAPSHOT_SECONDS_MAX, SnapshotFor, Tx, WriteKind};
use crate::error::StoreError;
use chain::{ChainKey, Mac};

/// The subject of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalKind {
    /// Accesses and Tasks.
    Changes,
    /// The setup, tokens, and refused attempts.
    Audit,
}

impl JournalKind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Changes, Self::Audit];

    /// The first schema version whose programs write entries.
    fn since_version(self) -> i64 {
        match self {
            Self::Changes => 13,
            Self::Audit => 14,
        }
    }
}

/// A journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Journal {
    /// The changes of a tenant's accesses and Tasks.
    Changes(TenantName),
    /// A tenant's audit.
    Audit(TenantName),
    /// The audit of the estate.
    EstateAudit,
}

/// In place of a tenant's name, which has no such character.
const ESTATE: &str = "*";

impl Journal {
    /// The kind.
    pub fn kind(&self) -> JournalKind {
        match self {
            Self::Changes(_) => JournalKind::Changes,
            Self::Audit(_) | Self::EstateAudit => JournalKind::Audit,
        }
    }

    /// The tenant, unless the journal is the estate's.
    pub fn tenant(&self) -> Option<&TenantName> {
        match self {
            Self::Changes(tenant) | Self::Audit(tenant) => Some(tenant),
            Self::EstateAudit => None,
        }
    }

    /// The tenant in the journal's rows.
    fn key(&self) -> &str {
        self.tenant().map_or(ESTATE, |tenant| tenant.as_str())
    }

    fn with_key(kind: JournalKind, key: &str) -> Result<Self, StoreError> {
        Ok(match (kind, key) {
            (JournalKind::Audit, ESTATE) => Self::EstateAudit,
            (JournalKind::Audit, name) => Self::Audit(name.parse().map_err(StoreError::corrupt)?),
            (JournalKind::Changes, name) => {
                Self::Changes(name.parse().map_err(StoreError::corrupt)?)
            }
        })
    }

    /// A long write to this journal.
    fn write_kind(&self) -> WriteKind {
        match self.tenant() {
            Some(tenant) => WriteKind::Journal(tenant.clone()),
            None => WriteKind::Server,
        }
    }

    /// A snapshot for a request about this journal.
    fn snapshot_for(&self) -> SnapshotFor<'_> {
        match self.tenant() {
            Some(tenant) => SnapshotFor::Tenant(tenant),
            None => SnapshotFor::Server(Some(SNAPSHOT_MAX)),
        }
    }
}

/// Time limit of a snapshot of the estate's audit.
const SNAPSHOT_MAX: Duration = Duration::from_secs(SNAPSHOT_SECONDS_MAX);

/// Both ends of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JournalEnds {
    /// Number of the last event; 0 before the first one.
    pub(crate) last: u64,
    /// MAC of the last entry.
    pub(crate) mac: Mac,
    /// Number of the last event that was deleted for its age.
    pub(crate) deleted_to: u64,
    /// MAC of its entry.
    pub(crate) deleted_mac: Mac,
    /// MAC of both ends.
    pub(crate) ends_mac: Option<Mac>,
}

impl JournalEnds {
    /// Whether the ends are as they were written. Before the first event there is nothing to protect.
    pub(crate) fn are_signed(&self, journal: &Journal, key: &ChainKey) -> bool {
        match &self.ends_mac {
            Some(mac) => key.verify_ends(journal, self, mac),
            None => self.last == 0 && self.deleted_to == 0,
        }
    }
}

/// Writes ends that follow others. Once no older program can have written the ones before, and they were altered behind
/// the server's back, the next ones keep a MAC that shows it.
pub(crate) async fn write_ends(
    tx: &Tx,
    journal: &Journal,
    key: &ChainKey,
    [before, after]: [&JournalEnds; 2],
) -> Result<(), StoreError> {
    let may_sign = before.are_signed(journal, key) || !beginning::has_estate_begun(tx).await?;
    let ends_mac = if may_sign { Some(key.sign_ends(journal, after)) } else { before.ends_mac };
    if !may_sign {
        tracing::error!(?journal, "the ends of a journal were altered behind the server's back");
    }
    let sql = journal_sql!(
        journal.kind(),
        "UPDATE " ends " SET last = ?2, mac = ?3, deleted_to = ?4, deleted_mac = ?5, ends_mac = ?6 "
        "WHERE tenant = ?1"
    );
    let values = [
        journal.key().into(),
        after.last.into(),
        after.mac.as_slice().into(),
        after.deleted_to.into(),
        after.deleted_mac.as_slice().into(),
        ends_mac.as_ref().map(|mac| mac.as_slice()).into(),
    ];
    tx.execute(sql, &values).await.map(drop)
}

fn ends_sql(journal: &Journal) -> &'static str {
    journal_sql!(journal.kind(), "SELECT last, mac, deleted_to, deleted_mac, ends_mac FROM " ends " WHERE tenant = ?1")
}

pub(crate) async fn read_ends(
    tx: &Tx,
    journal: &Journal,
) -> Result<Option<JournalEnds>, StoreError> {
    tx.row(ends_sql(journal), &[journal.key().into()], ends_of).await
}

/// Locks the journal: one transaction at a time numbers or deletes its entries.
pub(crate) async fn lock_ends(
    tx: &Tx,
    journal: &Journal,
) -> Result<Option<JournalEnds>, StoreError> {
    tx.lock_row(ends_sql(journal), &[journal.key().into()], ends_of).await
}

fn ends_of(row: &Row<'_>) -> Result<JournalEnds, StoreError> {
    Ok(JournalEnds {
        last: row.count(0)?,
        mac: chain::mac_of(row.bytes_ref(1)?)?,
        deleted_to: row.count(2)?,
        deleted_mac: chain::mac_of(row.bytes_ref(3)?)?,
        ends_mac: row.optional_bytes(4)?.map(|mac| chain::mac_of(&mac)).transpose()?,
    })
}
