//! Servers of an older version: whether one is alive, and how the schema refuses them from then on.
//!
//! On PostgreSQL, servers of two versions run beside each other during an upgrade. What older programs can't keep up
//! begins after the last one is gone: once none has sent a heartbeat for a while, older programs are refused, and once
//! none has for another while after that, it begins.

use std::sync::atomic::{AtomicBool, Ordering};

use gatehouse_core::Timestamp;
use parking_lot::Mutex;

use super::schema_lock;
use crate::Store;
use crate::db::{Db, Dialect, SnapshotFor, Tx, WriteKind};
use crate::error::StoreError;

/// Time without a heartbeat of an older server before older programs are refused, and again before anything relies on
/// that: a server that was just starting sends one in between.
pub(crate) const SILENT_MILLISECONDS: i64 = 60_000;

/// The refusal of programs that don't know a schema version.
pub(crate) struct Refusal {
    since_version: i64,
    /// When this program first saw that they are refused.
    seen_at: Mutex<Option<Timestamp>>,
    /// Whether they have been refused for long enough, which never ends.
    is_over: AtomicBool,
}

impl Refusal {
    /// The refusal of programs that know only versions before this one.
    pub(crate) fn before(since_version: i64) -> Self {
        Self { since_version, seen_at: Mutex::default(), is_over: AtomicBool::default() }
    }

    /// Refuses older programs, unless one is alive. Returns whether they have been refused for long enough.
    pub(crate) async fn advance(&self, db: &Db) -> Result<bool, StoreError> {
        if self.is_over.load(Ordering::Relaxed) {
            return Ok(true);
        }
        let since_version = self.since_version;
        let is_refused = db.write(WriteKind::Schema, async move |tx| {
            // A program that starts compares schema versions under this lock.
            schema_lock::take(&tx).await?;
            let is_any_alive = is_any_alive(&tx, since_version).await?;
            if !is_any_alive {
                refuse(&tx, since_version).await?;
            }
            Ok::<_, StoreError>(!is_any_alive)
        });
        if !is_refused.await? {
            return Ok(false);
        }
        let now = db.now().await?;
        let seen_at = *self.seen_at.lock().get_or_insert(now);
        let is_long = now.as_millisecond() - seen_at.as_millisecond() >= SILENT_MILLISECONDS;
        let is_over = is_long || !db.is_shared();
        self.is_over.fetch_or(is_over, Ordering::Relaxed);
        Ok(is_over)
    }
}

/// Whether no older server can be alive, so that no client has to wait: in an embedded store, which has one server, and
/// in a database without accesses.
pub(crate) async fn are_impossible(db: &Db) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM access LIMIT 1";
    Ok(db.dialect() == Dialect::Sqlite || db.row(sql, &[], |_| Ok(())).await?.is_none())
}

/// Makes the database refuse programs that don't know a version.
pub(crate) async fn refuse(tx: &Tx, since_version: i64) -> Result<(), StoreError> {
    let sql = "UPDATE schema_version SET needs = ?1 WHERE version = ?1 AND needs < ?1";
    tx.execute(sql, &[since_version.into()]).await.map(drop)
}

/// The first schema version whose programs process batches with labels, password hashes and generated passwords.
const LABELS_SINCE: i64 = 12;

impl Store {
    /// Whether a server runs, or did a short while ago, that would process batches without their labels.
    pub async fn has_server_without_labels(&self) -> Result<bool, StoreError> {
        if !self.db.is_shared() {
            return Ok(false);
        }
        let alive = async |tx: Tx| is_any_alive(&tx, LABELS_SINCE).await;
        self.db.snapshot(SnapshotFor::Server(None), alive).await
    }
}

/// Whether a server that doesn't know a version has sent a heartbeat lately.
pub(crate) async fn is_any_alive(tx: &Tx, since_version: i64) -> Result<bool, StoreError> {
    let now = tx.now().await?;
    // A heartbeat from the future came before the clock was set back.
    let sql = "SELECT 1 FROM replica WHERE seen_at > ?1 AND seen_at < ?2 \
               AND COALESCE(knows, 0) < ?3 LIMIT 1";
    let (from, to) =
        (now.plus_milliseconds(-SILENT_MILLISECONDS), now.plus_milliseconds(SILENT_MILLISECONDS));
    let older = tx.row(sql, &[from.into(), to.into(), since_version.into()], |_| Ok(())).await?;
    Ok(older.is_some())
}
