//! Work that is due: who may take it up, since when, and who has.
//!
//! A row says that something of a tenant is to be done from an instant on. Who takes it up holds a
//! [`Lease`] for a while: nobody else is given the row before that while is over, and each lease has an
//! epoch of its own. Time alone proves nothing, because a worker may be held up for longer than its
//! lease. So whatever is done under a lease commits together with [`hold`], [`release`] or [`finish`],
//! each of which fails once somebody else has taken the row up, also where the row has been finished and added again
//! meanwhile. They come last in a transaction: they lock the row, and a claim that waits for it should wait for a commit
//! alone.
//!
//! Nothing that is added is missed. [`add_locking`] locks the row that is there, and who is about to
//! [`finish`] locks it too ([`lock`]) and looks once more: the one sees what the other has committed.

use futures_util::future::{try_join, try_join_all};
use gatehouse_core::{TenantName, Timestamp};

use crate::Store;
use crate::db::{Line, Row, Tx, Value};
use crate::error::{Failure, StoreError};
use crate::probe::Point;

const MINUTE_MILLISECONDS: i64 = 60_000;

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DueKind {
    /// A tenant's unfinished tasks. Named after nothing: there is one row a tenant.
    Tasks,
    /// Ends of accesses, to be written down. Named after their contract; the part is a minute.
    Ends,
    /// A secret of a task, to be destroyed.
    Secret,
    /// Answers that were kept for whoever asks again, to be destroyed. Named after nothing; the part is a
    /// minute.
    Answer,
    /// A finished task, to be forgotten.
    Task,
}

impl DueKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::Tasks, Self::Ends, Self::Secret, Self::Answer, Self::Task];

    /// The word in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tasks => "tasks",
            Self::Ends => "ends",
            Self::Secret => "secret",
            Self::Answer => "answer",
            Self::Task => "task",
        }
    }

    /// The kind that this word names.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// Which piece of work it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DueKey {
    /// Whose it is.
    pub tenant: TenantName,
    /// What is to be done.
    pub kind: DueKind,
    /// To what; empty where there is only one in a tenant.
    pub name: String,
    /// To which part of it; 0 where it has none.
    pub part: i64,
}

impl DueKey {
    /// The values `?1` to `?4` of a statement, and those that follow.
    fn values<'a>(&'a self, more: &[Value<'a>]) -> Vec<Value<'a>> {
        let tenant = self.tenant.as_str().into();
        let key = [tenant, self.kind.as_str().into(), self.name.as_str().into(), self.part.into()];
        [&key, more].concat()
    }
}

/// The right to do a piece of work, until it ends or is given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Which piece of work.
    pub key: DueKey,
    epoch: u64,
}

/// Why what was to be done under a lease was not.
#[derive(Debug, thiserror::Error)]
pub enum NotRun {
    /// Somebody else has taken it up.
    #[error("the lease is lost")]
    Lost,
    /// The Task is not where the worker left it: it was stopped, or is gone.
    #[error("the Task was stopped")]
    Moved,
    /// A test wanted it to end here.
    #[error("interrupted at {0:?}")]
    Interrupted(Point),
    /// The store let us down.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Failure for NotRun {
    fn of_store(&self) -> Option<&StoreError> {
        match self {
            Self::Store(error) => Some(error),
            Self::Lost | Self::Moved | Self::Interrupted(_) => None,
        }
    }
}

/// Rows of one kind that a claim looks at: whoever loses the first to somebody else tries the next.
const CANDIDATES: u64 = 8;

impl Store {
    /// Takes up what has been due for longest among these kinds; `None` when nothing is due.
    pub async fn claim_due(
        &self,
        kinds: &[DueKind],
        lease_milliseconds: i64,
    ) -> Result<Option<Lease>, StoreError> {
        // Most looks find nothing, and take nobody's turn to write.
        let (next, now) = try_join(self.next_due(kinds), self.now()).await?;
        if next.is_none_or(|due_at| due_at > now) {
            return Ok(None);
        }
        let kinds = kinds.to_vec();
        self.db
            .write(Line::Own, async move |tx| {
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
                    // Others were quicker with all of them, so there is less to look at now.
                }
            })
            .await
    }

    /// Prolongs a lease, from now on; false when it is lost.
    pub async fn heartbeat(
        &self,
        lease: &Lease,
        lease_milliseconds: i64,
    ) -> Result<bool, StoreError> {
        let lease = lease.clone();
        self.db
            .write(Line::Own, async move |tx| {
                let until = tx.now().await?.plus_milliseconds(lease_milliseconds);
                hold(&tx, &lease, until).await
            })
            .await
    }

    /// Gives a lease back undone: due at once, behind what is due already; false when it is lost.
    pub async fn release(&self, lease: &Lease) -> Result<bool, StoreError> {
        let lease = lease.clone();
        self.db
            .write(Line::Own, async move |tx| {
                let now = tx.now().await?;
                release(&tx, &lease, now).await
            })
            .await
    }

    /// Gives a lease back undone, not to be taken up again for a while; false when it is lost.
    pub async fn put_off(&self, lease: &Lease, milliseconds: i64) -> Result<bool, StoreError> {
        let lease = lease.clone();
        self.db
            .write(Line::Own, async move |tx| {
                let later = tx.now().await?.plus_milliseconds(milliseconds);
                release(&tx, &lease, later).await
            })
            .await
    }

    /// From when there is something of these kinds that may be taken up.
    pub async fn next_due(&self, kinds: &[DueKind]) -> Result<Option<Timestamp>, StoreError> {
        let sql = "SELECT due_at FROM due WHERE kind = ?1 ORDER BY due_at LIMIT 1";
        let next = kinds.iter().map(async |kind| {
            let values = [kind.as_str().into()];
            self.db.row(sql, &values, |row| row.time(0)).await
        });
        Ok(try_join_all(next).await?.into_iter().flatten().min())
    }

    /// Ends the leases that an earlier process left behind, and tells how many there were.
    ///
    /// For the start of a server on the embedded store, which one process has for itself: whoever held
    /// a lease is gone. On PostgreSQL other servers may be at work, and nothing happens.
    pub async fn forget_leases(&self) -> Result<u64, StoreError> {
        if self.db.is_shared() {
            return Ok(0);
        }
        self.db
            .write(Line::Own, async move |tx| {
                let now = tx.now().await?;
                let sql = "UPDATE due SET due_at = ?1, is_leased = 0, epoch = epoch + 1 \
                           WHERE is_leased = 1";
                tx.execute(sql, &[now.into()]).await
            })
            .await
    }
}

/// A row that may be taken up, as it was found.
struct Candidate {
    key: DueKey,
    due_at: Timestamp,
    epoch: u64,
}

/// What may be taken up at `now`, the longest due first.
async fn candidates(
    tx: &Tx,
    kinds: &[DueKind],
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
    let kind = DueKind::from_word(&row.text(1)?);
    let key = DueKey {
        tenant: row.parsed(0)?,
        kind: kind.ok_or_else(|| StoreError::corrupt("an unknown kind of work"))?,
        name: row.text(2)?,
        part: row.integer(3)?,
    };
    Ok(Candidate { key, due_at: row.time(4)?, epoch: row.count(5)? })
}

/// Takes a row up if it is still as it was found.
async fn claim(tx: &Tx, found: Candidate, until: Timestamp) -> Result<Option<Lease>, StoreError> {
    let sql = "UPDATE due SET due_at = ?5, is_leased = 1, epoch = epoch + 1 WHERE tenant = ?1 \
               AND kind = ?2 AND name = ?3 AND part = ?4 AND epoch = ?6 AND due_at = ?7";
    let values = found.key.values(&[until.into(), found.epoch.into(), found.due_at.into()]);
    let claimed = tx.execute(sql, &values).await? == 1;
    Ok(claimed.then_some(Lease { key: found.key, epoch: found.epoch + 1 }))
}

/// Whether somebody waits for work of this kind to be taken up.
pub(crate) async fn is_waiting(tx: &Tx, kind: DueKind, now: Timestamp) -> Result<bool, StoreError> {
    // In this order, because the index has it: PostgreSQL would look through everything that is due some
    // day, where it doesn't know how much that is.
    let sql = "SELECT 1 FROM due WHERE kind = ?1 AND due_at <= ?2 ORDER BY due_at LIMIT 1";
    Ok(tx.row(sql, &[kind.as_str().into(), now.into()], |_| Ok(())).await?.is_some())
}

/// Adds work, unless it is there already. For what is added once: who finishes a row that is there may
/// not see what this transaction does.
pub(crate) async fn add(tx: &Tx, key: &DueKey, due_at: Timestamp) -> Result<(), StoreError> {
    let sql = "INSERT INTO due (tenant, kind, name, part, due_at, is_leased, epoch) \
               VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6) \
               ON CONFLICT (tenant, kind, name, part) DO NOTHING";
    let epoch = first_epoch(due_at).into();
    tx.execute(sql, &key.values(&[due_at.into(), epoch])).await.map(drop)
}

/// Adds work, or locks the row that is there until the commit, so that nobody finishes it without
/// seeing what this transaction does. A row that nobody has taken up is due at the earlier time.
pub(crate) async fn add_locking(
    tx: &Tx,
    key: &DueKey,
    due_at: Timestamp,
) -> Result<(), StoreError> {
    // The time of a row that is leased is the end of the lease, and stays.
    let sql = "INSERT INTO due (tenant, kind, name, part, due_at, is_leased, epoch) \
               VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6) \
               ON CONFLICT (tenant, kind, name, part) DO UPDATE SET due_at = CASE \
               WHEN due.is_leased = 0 AND excluded.due_at < due.due_at THEN excluded.due_at \
               ELSE due.due_at END";
    let epoch = first_epoch(due_at).into();
    tx.execute(sql, &key.values(&[due_at.into(), epoch])).await.map(drop)
}

/// The epoch of a row that is added: one that no lease of the row has had, should there have been one before.
///
/// A tenant's queue is deleted when it is worked off, and added with the next batch. Were its epochs to begin anew, a worker
/// that had been held up since the former row could commit under a lease of the latter. So they begin with the time, in steps
/// that are far shorter than a lease.
fn first_epoch(due_at: Timestamp) -> i64 {
    due_at.as_millisecond().max(0).saturating_mul(1024)
}

/// Locks the row until the commit; false when the lease is lost, and the caller must roll back.
pub(crate) async fn lock(tx: &Tx, lease: &Lease) -> Result<bool, StoreError> {
    let sql = "SELECT epoch FROM due WHERE tenant = ?1 AND kind = ?2 AND name = ?3 AND part = ?4";
    let epoch = tx.lock_row(sql, &lease.key.values(&[]), |row| row.count(0)).await?;
    Ok(epoch == Some(lease.epoch))
}

/// Goes on holding the lease until then; false when it is lost, and the caller must roll back.
pub(crate) async fn hold(tx: &Tx, lease: &Lease, until: Timestamp) -> Result<bool, StoreError> {
    let sql = "UPDATE due SET due_at = ?6 \
               WHERE tenant = ?1 AND kind = ?2 AND name = ?3 AND part = ?4 AND epoch = ?5";
    let values = lease.key.values(&[lease.epoch.into(), until.into()]);
    Ok(tx.execute(sql, &values).await? == 1)
}

/// Gives the lease back, due from then on; false when it is lost, and the caller must roll back.
pub(crate) async fn release(tx: &Tx, lease: &Lease, due_at: Timestamp) -> Result<bool, StoreError> {
    // With a new epoch: what was given back can't be used any more.
    let sql = "UPDATE due SET due_at = ?6, is_leased = 0, epoch = epoch + 1 \
               WHERE tenant = ?1 AND kind = ?2 AND name = ?3 AND part = ?4 AND epoch = ?5";
    let values = lease.key.values(&[lease.epoch.into(), due_at.into()]);
    Ok(tx.execute(sql, &values).await? == 1)
}

/// Deletes what is done; false when the lease is lost, and the caller must roll back.
///
/// Whoever adds with [`add_locking`] is missed unless the caller has locked the row, and looked for more
/// work after that.
pub(crate) async fn finish(tx: &Tx, lease: &Lease) -> Result<bool, StoreError> {
    let sql = "DELETE FROM due \
               WHERE tenant = ?1 AND kind = ?2 AND name = ?3 AND part = ?4 AND epoch = ?5";
    Ok(tx.execute(sql, &lease.key.values(&[lease.epoch.into()])).await? == 1)
}

/// Rounds an instant up to a whole minute, in minutes since 1970: rows that are due in one minute share one entry.
pub(crate) fn minute(at: Timestamp) -> i64 {
    -(-at.as_millisecond()).div_euclid(MINUTE_MILLISECONDS)
}

/// The instant at which a minute's work is due.
pub(crate) fn due_at(minute: i64) -> Timestamp {
    Timestamp::EPOCH.plus_milliseconds(minute.saturating_mul(MINUTE_MILLISECONDS))
}
