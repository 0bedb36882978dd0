//! The work queue: what is due, and which worker holds its lease.
//!
//! A row says that some work of a tenant is due from a time on. A worker that claims the row gets a [`Lease`]: no other
//! worker gets the row before the lease expires. Time alone proves nothing, because a worker may be suspended for
//! longer than its lease. So each lease has an epoch, which serves as a fencing token: work under a lease commits
//! together with [`hold`], [`release`] or [`finish`], which fail once another worker has claimed the row, also if it
//! was finished and added again meanwhile. They come last in a transaction: they lock the row, and a waiting claim
//! should only wait for the commit.
//!
//! No added work is missed. [`add_locking`] locks an existing row. A worker that is about to [`finish`] locks it too
//! ([`lock`]) and then looks for more work, so that one of the two sees what the other has committed.

use futures_util::future::{try_join, try_join_all};
use gatehouse_core::{TenantName, Timestamp};

use crate::Store;
use crate::db::{Row, Tx, Value, WriteKind};
use crate::error::{RuleError, StoreError};
use crate::failpoint::Failpoint;

const MINUTE_MILLISECONDS: i64 = 60_000;

/// Kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WorkKind {
    /// A tenant's unfinished Tasks. One row per tenant, without a name.
    UnfinishedTasks,
    /// Accesses whose expiry is to be stored. Named after their contract; the part is a minute.
    ExpiringAccesses,
    /// A Task's secret, to be destroyed.
    OldSecret,
    /// Stored responses of idempotent requests, to be destroyed. Without a name; the part is a minute.
    OldResponses,
    /// A finished Task, to be deleted.
    OldTask,
    /// A hub, with messages to send.
    Hub,
    /// A tenant's events for an outlet, which is the row's name.
    Outlet,
}

impl WorkKind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::UnfinishedTasks,
        Self::ExpiringAccesses,
        Self::OldSecret,
        Self::OldResponses,
        Self::OldTask,
        Self::Hub,
        Self::Outlet,
    ];

    /// The word in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnfinishedTasks => "tasks",
            Self::ExpiringAccesses => "ends",
            Self::OldSecret => "secret",
            Self::OldResponses => "answer",
            Self::OldTask => "task",
            Self::Hub => "hub",
            Self::Outlet => "outlet",
        }
    }

    /// The kind with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// Key of a row in the work queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WorkKey {
    /// The tenant.
    pub tenant: TenantName,
    /// The kind of work.
    pub kind: WorkKind,
    /// Name of the object to work on; empty where a tenant has only one.
    pub name: String,
    /// Part of the object, or the minute in which it is due; 0 where it has neither.
    pub part: i64,
}

impl WorkKey {
    /// The key as values `?1` to `?4` of a statement, followed by `more`.
    fn values<'a>(&'a self, more: &[Value<'a>]) -> Vec<Value<'a>> {
        let tenant = self.tenant.as_str().into();
        let key = [tenant, self.kind.as_str().into(), self.name.as_str().into(), self.part.into()];
        [&key, more].concat()
    }
}

/// A worker's right to work on a row, until it expires or is released.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The row.
    pub key: WorkKey,
    epoch: u64,
}

/// Why work under a lease was not done.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// Another worker holds the lease.
    #[error("the lease is lost")]
    LeaseLost,
    /// The Task was stopped, changed or deleted by another transaction.
    #[error("the Task was stopped")]
    TaskChanged,
    /// A test interrupted the work.
    #[error("interrupted at {0:?}")]
    Interrupted(Failpoint),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl RuleError for WorkError {
    fn of_store(&self) -> Option<&StoreError> {
        match self {
            Self::Store(error) => Some(error),
            Self::LeaseLost | Self::TaskChanged | Self::Interrupted(_) => None,
        }
    }
}

/// Candidates per kind and query: a worker that loses the first to another one tries the next.
const CANDIDATES: u64 = 8;

impl Store {
    /// Claims the row among these kinds that has been due for longest; `None` when nothing is due.
    pub async fn claim_due(
        &self,
        kinds: &[WorkKind],
        lease_milliseconds: i64,
    ) -> Result<Option<Lease>, StoreError> {
        // Most calls find nothing, and need no write.
        let (next, now) = try_join(self.next_due(kinds), self.now()).await?;
        if next.is_none_or(|due_at| due_at > now) {
            return Ok(None);
        }
        let kinds = kinds.to_vec();
        self.db
            .write(WriteKind::Server, async move |tx| {
                let now = tx.now().await?;
                let until = now.plus_milliseconds(lease_milliseconds);
                loop {
                    let candidates = candidates(&tx, &kinds, now).await?;
                    if candidates.is_empty() {
                        return Ok(None);
                    }
                    for candidate in candidates {
                        if let Some(lease) = claim(&tx, candidate, until).await? {
                            return Ok(Some(lease));
                        }
                    }
                    // Other workers have claimed all of them, so fewer rows are due now.
                }
            })
            .await
    }

    /// Renews a lease, from now on; false when it is lost.
    pub async fn renew_lease(
        &self,
        lease: &Lease,
        lease_milliseconds: i64,
    ) -> Result<bool, StoreError> {
        let lease = lease.clone();
        self.db
            .write(WriteKind::Server, async move |tx| {
                let until = tx.now().await?.plus_milliseconds(lease_milliseconds);
                hold(&tx, &lease, until).await
            })
            .await
    }

    /// Releases a lease: the row is due at once, behind all rows that are due already. False when the lease is lost.
    pub async fn release(&self, lease: &Lease) -> Result<bool, StoreError> {
        let lease = lease.clone();
        self.db
            .write(WriteKind::Server, async move |tx| {
                let now = tx.now().await?;
                release(&tx, &lease, now).await
            })
            .await
    }

    /// Releases a lease and makes the row due only after this time; false when the lease is lost.
    pub async fn postpone(&self, lease: &Lease, milliseconds: i64) -> Result<bool, StoreError> {
        let lease = lease.clone();
        self.db
            .write(WriteKind::Server, async move |tx| {
                let later = tx.now().await?.plus_milliseconds(milliseconds);
                release(&tx, &lease, later).await
            })
            .await
    }

    /// When the first row among these kinds is due; `None` when there is none.
    pub async fn next_due(&self, kinds: &[WorkKind]) -> Result<Option<Timestamp>, StoreError> {
        let sql = "SELECT due_at FROM due WHERE kind = ?1 ORDER BY due_at LIMIT 1";
        let next = kinds.iter().map(async |kind| {
            let values = [kind.as_str().into()];
            self.db.row(sql, &values, |row| row.time(0)).await
        });
        Ok(try_join_all(next).await?.into_iter().flatten().min())
    }

    /// Releases the leases of an earlier process, and returns their number.
    ///
    /// For the start of a server on the embedded store, which one process uses at a time: every lease is stale. On
    /// PostgreSQL other servers may hold leases, and nothing happens.
    pub async fn release_stale_leases(&self) -> Result<u64, StoreError> {
        if self.db.is_shared() {
            return Ok(0);
        }
        self.db
            .write(WriteKind::Server, async move |tx| {
                let now = tx.now().await?;
                let sql = "UPDATE due SET due_at = ?1, is_leased = 0, epoch = epoch + 1 \
                           WHERE is_leased = 1";
                tx.execute(sql, &[now.into()]).await
            })
            .await
    }
}

/// A due row, as it was read.
struct Candidate {
    key: WorkKey,
    due_at: Timestamp,
    epoch: u64,
}

/// Rows that are due at `now`, the longest due first.
async fn candidates(
    tx: &Tx,
    kinds: &[WorkKind],
    now: Timestamp,
) -> Result<Vec<Candidate>, StoreError> {
    let sql = "SELECT tenant, kind, name, part, due_at, epoch FROM due \
               WHERE kind = ?1 AND due_at <= ?2 ORDER BY due_at LIMIT ?3";
    let found = kinds.iter().map(async |kind| {
        tx.rows(sql, &[kind.as_str().into(), now.into(), CANDIDATES.into()], read).await
    });
    let mut candidates: Vec<_> = try_join_all(found).await?.into_iter().flatten().collect();
    candidates.sort_by_key(|candidate| candidate.due_at);
    Ok(candidates)
}

fn read(row: &Row<'_>) -> Result<Candidate, StoreError> {
    let kind = WorkKind::from_word(&row.text(1)?);
    let key = WorkKey {
        tenant: row.parsed(0)?,
        kind: kind.ok_or_else(|| StoreError::corrupt("an unknown kind of work"))?,
        name: row.text(2)?,
        part: row.integer(3)?,
    };
    Ok(Candidate { key, due_at: row.time(4)?, epoch: row.count(5)? })
}

/// Claims a row if it hasn't changed since it was read.
async fn claim(tx: &Tx, found: Candidate, until: Timestamp) -> Result<Option<Lease>, StoreError> {
    let sql = "UPDATE due SET due_at = ?5, is_leased = 1, epoch = epoch + 1 WHERE tenant = ?1 \
               AND kind = ?2 AND name = ?3 AND part = ?4 AND epoch = ?6 AND due_at = ?7";
    let values = found.key.values(&[until.into(), found.epoch.into(), found.due_at.into()]);
    let claimed = tx.execute(sql, &values).await? == 1;
    Ok(claimed.then_some(Lease { key: found.key, epoch: found.epoch + 1 }))
}

/// Whether a row of this kind is due and not claimed.
pub(crate) async fn is_waiting(
    tx: &Tx,
    kind: WorkKind,
    now: Timestamp,
) -> Result<bool, StoreError> {
    // Ordered, so that PostgreSQL uses the index: without statistics it might scan all future rows.
    let sql = "SELECT 1 FROM due WHERE kind = ?1 AND due_at <= ?2 ORDER BY due_at LIMIT 1";
    Ok(tx.row(sql, &[kind.as_str().into(), now.into()], |_| Ok(())).await?.is_some())
}

/// Adds a row unless it exists. For work that is added once: a worker that finishes an existing row may not see what
/// this transaction does.
pub(crate) async fn add(tx: &Tx, key: &WorkKey, due_at: Timestamp) -> Result<(), StoreError> {
    let sql = "INSERT INTO due (tenant, kind, name, part, due_at, is_leased, epoch) \
               VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6) \
               ON CONFLICT (tenant, kind, name, part) DO NOTHING";
    let epoch = first_epoch(due_at).into();
    tx.execute(sql, &key.values(&[due_at.into(), epoch])).await.map(drop)
}

/// Adds a row, or locks the existing one until the commit, so that no worker finishes it without seeing what this
/// transaction does. A row that isn't leased becomes due at the earlier time.
pub(crate) async fn add_locking(
    tx: &Tx,
    key: &WorkKey,
    due_at: Timestamp,
) -> Result<(), StoreError> {
    // `due_at` of a leased row is the end of the lease, and stays.
    let sql = "INSERT INTO due (tenant, kind, name, part, due_at, is_leased, epoch) \
               VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6) \
               ON CONFLICT (tenant, kind, name, part) DO UPDATE SET due_at = CASE \
               WHEN due.is_leased = 0 AND excluded.due_at < due.due_at THEN excluded.due_at \
               ELSE due.due_at END";
    let epoch = first_epoch(due_at).into();
    tx.execute(sql, &key.values(&[due_at.into(), epoch])).await.map(drop)
}

/// First epoch of a new row, which no lease of an earlier row with this key has had.
///
/// A tenant's row is deleted when its Tasks are finished, and added with the next batch. If epochs began at 0 again, a
/// worker that was suspended since the earlier row could commit under a lease of the new one. So they begin with the
/// time, in steps that are far shorter than a lease.
pub(crate) fn first_epoch(due_at: Timestamp) -> i64 {
    due_at.as_millisecond().max(0).saturating_mul(1024)
}

/// Locks the row until the commit; false when the lease is lost, and the caller must roll back.
pub(crate) async fn lock(tx: &Tx, lease: &Lease) -> Result<bool, StoreError> {
    let sql = "SELECT epoch FROM due WHERE tenant = ?1 AND kind = ?2 AND name = ?3 AND part = ?4";
    let epoch = tx.lock_row(sql, &lease.key.values(&[]), |row| row.count(0)).await?;
    Ok(epoch == Some(lease.epoch))
}

/// Extends the lease; false when it is lost, and the caller must roll back.
pub(crate) async fn hold(tx: &Tx, lease: &Lease, until: Timestamp) -> Result<bool, StoreError> {
    let sql = "UPDATE due SET due_at = ?6 \
               WHERE tenant = ?1 AND kind = ?2 AND name = ?3 AND part = ?4 AND epoch = ?5";
    let values = lease.key.values(&[lease.epoch.into(), until.into()]);
    Ok(tx.execute(sql, &values).await? == 1)
}

/// Releases the lease and makes the row due at this time; false when the lease is lost, and the caller must roll back.
pub(crate) async fn release(tx: &Tx, lease: &Lease, due_at: Timestamp) -> Result<bool, StoreError> {
    // The new epoch makes the released lease unusable.
    let sql = "UPDATE due SET due_at = ?6, is_leased = 0, epoch = epoch + 1 \
               WHERE tenant = ?1 AND kind = ?2 AND name = ?3 AND part = ?4 AND epoch = ?5";
    let values = lease.key.values(&[lease.epoch.into(), due_at.into()]);
    Ok(tx.execute(sql, &values).await? == 1)
}

/// Deletes the row; false when the lease is lost, and the caller must roll back.
///
/// Work added with [`add_locking`] is missed unless the caller has locked the row and then looked for more work.
pub(crate) async fn finish(tx: &Tx, lease: &Lease) -> Result<bool, StoreError> {
    let sql = "DELETE FROM due \
               WHERE tenant = ?1 AND kind = ?2 AND name = ?3 AND part = ?4 AND epoch = ?5";
    Ok(tx.execute(sql, &lease.key.values(&[lease.epoch.into()])).await? == 1)
}

/// Rounds a time up to a whole minute, in minutes since 1970: work that is due in one minute shares a row.
pub(crate) fn minute(at: Timestamp) -> i64 {
    -(-at.as_millisecond()).div_euclid(MINUTE_MILLISECONDS)
}

/// The time at which a minute's work is due.
pub(crate) fn due_at(minute: i64) -> Timestamp {
    Timestamp::EPOCH.plus_milliseconds(minute.saturating_mul(MINUTE_MILLISECONDS))
}
