//! One interface to SQLite and PostgreSQL: nothing outside this module knows which of them is in use. (A third
//! database, in memory, is for tests that simulate several servers.)
//!
//! Statements are written once, with `?1`, `?2`, … for values, in the part of SQL that both databases understand.
//! Values and columns are 64-bit integers, texts and bytes.
//!
//! On SQLite a read runs on the caller's thread; on PostgreSQL reads are pipelined over a few shared connections. A
//! write is an async function of a [`Tx`]. On SQLite it runs on the one writer thread and never waits; on PostgreSQL it
//! has its own connection. Reads of many rows are a [`Db::snapshot`]: few run at a time, away from all other calls.

mod in_memory;
mod postgres;
mod row;
mod snapshot_pool;
mod sqlite;
mod work;

pub use in_memory::{CallFate, DatabaseCall, InMemoryDatabase, Network};
pub(crate) use postgres::Session;
pub use postgres::{DatabaseUrl, RETRY_WINDOW};
pub(crate) use row::{Cell, Row, TypedValue, Value};
#[cfg(test)]
pub(crate) use sqlite::CheckpointLengths;
pub(crate) use sqlite::{Health, Location, PendingCheck, ProcessRole, inspect};
pub use sqlite::{LastShutdown, OpenMode};
pub(crate) use work::TxFailed;

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::{TenantName, Timestamp};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::clock::Clock;
use crate::error::{DiskTrouble, RuleError, StoreError};
use crate::meter::{CallKind, StoreMeter};
use work::{ReadRow, StartWork, collect_into, repeatable};

/// Time limit, in seconds, of a request that reads many rows.
pub const SNAPSHOT_SECONDS_MAX: u64 = 10;

/// Time limit of a request that reads many rows.
pub(crate) const FOR_A_REQUEST: Duration = Duration::from_secs(SNAPSHOT_SECONDS_MAX);

/// Caller of a snapshot: decides the queue that it waits in, and its time limit.
#[derive(Clone, Copy)]
pub(crate) enum SnapshotFor<'a> {
    /// A tenant's request, with the time limit of requests.
    Tenant(&'a TenantName),
    /// A tenant's request that looks at rows one by one, with the same time limit.
    Scan(&'a TenantName),
    /// The server or an operator, with this time limit.
    Server(Option<Duration>),
}

impl SnapshotFor<'_> {
    fn limit(self) -> Option<Duration> {
        match self {
            Self::Tenant(_) | Self::Scan(_) => Some(FOR_A_REQUEST),
            Self::Server(limit) => limit,
        }
    }
}

/// Time limit of a short write on PostgreSQL, before its COMMIT.
const WRITE_MAX: Duration = Duration::from_secs(15);

/// Time limit of a batch's write on PostgreSQL, before its COMMIT.
const LONG_WRITE_MAX: Duration = Duration::from_secs(60);

/// Time limit of a health check.
const PING_MAX: Duration = Duration::from_secs(1);

/// A SQLite or PostgreSQL database.
#[derive(Clone)]
pub(crate) struct Db {
    engine: Engine,
    clock: Clock,
    meter: Arc<StoreMeter>,
    /// Notified when a tenant's write is committed.
    committed: Arc<Notify>,
    /// Whether changes are written to the journals, as they always are except for the bench's yardstick.
    has_journal: bool,
}

#[derive(Clone)]
enum Engine {
    Sqlite(Arc<sqlite::Sqlite>),
    Postgres(Arc<postgres::Postgres>),
    /// For tests alone.
    InMemory(in_memory::InMemory),
}

/// SQL dialect, for the statements that need two texts: migrations and bulk statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

impl Db {
    pub(crate) fn open_sqlite(
        location: impl Into<Location>,
        role: ProcessRole,
        clock: Clock,
    ) -> Result<Self, StoreError> {
        let meter = Arc::new(StoreMeter::new());
        let db = sqlite::Sqlite::open(location.into(), role, Arc::clone(&meter))?;
        Ok(Self::of(Engine::Sqlite(Arc::new(db)), clock, meter))
    }

    /// Opens an embedded database read-only.
    pub(crate) fn attach_sqlite(
        location: impl Into<Location>,
        clock: Clock,
    ) -> Result<Self, StoreError> {
        let meter = Arc::new(StoreMeter::new());
        let db = sqlite::Sqlite::attach(location.into(), Arc::clone(&meter))?;
        Ok(Self::of(Engine::Sqlite(Arc::new(db)), clock, meter))
    }

    pub(crate) fn open_postgres(url: &DatabaseUrl, clock: Clock) -> Result<Self, StoreError> {
        let meter = Arc::new(StoreMeter::new());
        let engine = Engine::Postgres(Arc::new(postgres::Postgres::new(url, Arc::clone(&meter))));
        Ok(Self::of(engine, clock, meter))
    }

    /// Opens a database in memory for one of the servers that share it.
    pub(crate) fn open_in_memory(
        database: &InMemoryDatabase,
        network: Arc<dyn Network>,
        clock: Clock,
    ) -> Self {
        let engine = Engine::InMemory(in_memory::InMemory::new(database, network));
        Self::of(engine, clock, Arc::new(StoreMeter::new()))
    }

    fn of(engine: Engine, clock: Clock, meter: Arc<StoreMeter>) -> Self {
        Self { engine, clock, meter, committed: Arc::default(), has_journal: true }
    }

    /// Turns the journals off: they get nothing from now on.
    pub(crate) fn without_journal(self) -> Self {
        Self { has_journal: false, ..self }
    }

    pub(crate) fn dialect(&self) -> Dialect {
        match self.engine {
            Engine::Sqlite(_) | Engine::InMemory(_) => Dialect::Sqlite,
            Engine::Postgres(_) => Dialect::Postgres,
        }
    }

    /// Whether several servers may use the database at the same time.
    pub(crate) fn is_shared(&self) -> bool {
        match self.engine {
            Engine::Sqlite(_) => false,
            Engine::Postgres(_) | Engine::InMemory(_) => true,
        }
    }

    pub(crate) fn meter(&self) -> &StoreMeter {
        &self.meter
    }

    /// Runs a query; `read` sees each row once, in order, and the values that it returns come back.
    pub(crate) async fn rows<T: Send>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T, StoreError> + Send,
    ) -> Result<Vec<T>, StoreError> {
        let mut found = Vec::new();
        self.read(sql, values, &mut collect_into(&mut found, read)).await?;
        Ok(found)
    }

    async fn read(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
        each: &mut ReadRow<'_>,
    ) -> Result<(), StoreError> {
        let read = pin!(async {
            match &self.engine {
                Engine::Sqlite(db) => db.read(|session| session.rows(sql, values, each)),
                Engine::Postgres(db) => db.read(sql, values, each).await,
                Engine::InMemory(db) => db.read(sql, values, each).await,
            }
        });
        self.meter.measure(CallKind::Read, read).await
    }

    /// The first row of a query; `None` where it finds none.
    pub(crate) async fn row<T: Send>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T, StoreError> + Send,
    ) -> Result<Option<T>, StoreError> {
        self.rows(sql, values, read).await.map(|rows| rows.into_iter().next())
    }

    /// Whether the driver never retries: SQLite has no transient errors.
    fn runs_work_once(&self) -> bool {
        self.dialect() == Dialect::Sqlite
    }

    /// Returns a function that makes a transaction of a driver's connection.
    fn tx(&self) -> impl FnOnce(TxSession) -> Tx + Clone + Send + 'static {
        let (clock, meter) = (self.clock.clone(), Arc::clone(&self.meter));
        let has_journal = self.has_journal;
        let network = match &self.engine {
            Engine::Sqlite(_) | Engine::Postgres(_) => None,
            Engine::InMemory(db) => Some(db.network()),
        };
        move |session| Tx { session, clock, meter, network, has_journal }
    }

    /// Runs one write: all of it happens, durably, or, when it returns an error other than
    /// [`StoreError::OutcomeUnknown`], nothing. PostgreSQL may run `work` more than once, until one run is committed.
    pub(crate) async fn write<T, E, Work, Run>(&self, kind: WriteKind, work: Work) -> Result<T, E>
    where
        T: Send + 'static,
        E: RuleError + Send + 'static,
        Work: FnOnce(Tx) -> Run + Clone + Send + 'static,
        Run: Future<Output = Result<T, E>> + Send + 'static,
    {
        let runs_once = self.runs_work_once() || !kind.is_retried();
        let (start, result) = work::erase(self.tx(), repeatable(runs_once, work));
        let taken = result.take(self.transact(&kind, start).await);
        if taken.is_ok() && matches!(kind, WriteKind::Tenant(_) | WriteKind::Batch(_)) {
            self.committed.notify_one();
        }
        taken
    }

    /// Not generic, so that it is compiled once.
    async fn transact(&self, kind: &WriteKind, start: StartWork) -> Result<(), TxFailed> {
        let written = pin!(async {
            match &self.engine {
                Engine::Sqlite(db) => db.write(kind, start).await,
                Engine::Postgres(db) => db.write(kind, start).await,
                Engine::InMemory(db) => db.write(start).await,
            }
        });
        self.meter.measure(CallKind::Write, written).await
    }

    /// Waits until this server has committed a tenant's write since the last call.
    pub(crate) async fn until_committed(&self) {
        self.committed.notified().await;
    }

    /// Number of tenants' writes that wait in the queue.
    #[cfg(test)]
    pub(crate) fn n_waiting(&self) -> usize {
        match &self.engine {
            Engine::Sqlite(_) | Engine::InMemory(_) => 0,
            Engine::Postgres(db) => db.n_waiting(),
        }
    }

    /// Runs a statement that PostgreSQL allows only outside of a transaction, on its own connection and without a time
    /// limit.
    pub(crate) async fn run_outside_transaction(&self, sql: &str) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(_) | Engine::InMemory(_) => {
                Err(StoreError::corrupt("SQLite runs every statement in a transaction"))
            }
            Engine::Postgres(db) => db.run_outside_transaction(sql).await,
        }
    }

    /// Runs reads of many rows in one snapshot, away from the threads that answer requests, within the caller's time
    /// limit. PostgreSQL may run `work` more than once.
    pub(crate) async fn snapshot<T, Work, Run>(
        &self,
        caller: SnapshotFor<'_>,
        work: Work,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        Work: FnOnce(Tx) -> Run + Clone + Send + 'static,
        Run: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let (start, result) = work::erase(self.tx(), repeatable(self.runs_work_once(), work));
        result.take(self.run_snapshot(caller, start).await)
    }

    async fn run_snapshot(
        &self,
        caller: SnapshotFor<'_>,
        start: StartWork,
    ) -> Result<(), TxFailed> {
        let read = pin!(async {
            match &self.engine {
                Engine::Sqlite(db) => db.snapshot(caller, start).await,
                Engine::Postgres(db) => db.snapshot(caller, start).await,
                Engine::InMemory(db) => db.snapshot(start).await,
            }
        });
        self.meter.measure(CallKind::Snapshot, read).await
    }

    /// Health check: whether the database answers and takes writes. PostgreSQL is asked without a write.
    pub(crate) async fn ping(&self) -> Result<(), StoreError> {
        let db = match &self.engine {
            Engine::Sqlite(db) => db,
            Engine::Postgres(db) => return db.ping(PING_MAX).await,
            Engine::InMemory(_) => return Ok(()),
        };
        let probed = tokio::time::timeout(PING_MAX, async {
            let _turn = db.probe_lock().await;
            if let Some(told) = db.known_health() {
                return told.map_err(StoreError::NotReady);
            }
            let touched = self.write(WriteKind::Server, async |tx| tx.touch().await).await;
            if db.health().trouble() == Some(DiskTrouble::Full) {
                let _ = db.checkpoint().await;
            }
            // The disk's health says more than an error does.
            db.health().trouble().map_or(touched, |trouble| Err(StoreError::NotReady(trouble)))
        });
        probed.await.unwrap_or(Err(StoreError::NotReady(DiskTrouble::Stuck)))?;
        self.rows("SELECT 1 FROM tenant LIMIT 1", &[], |_| Ok(())).await.map(drop)
    }

    /// Health of SQLite's disk; `None` for the other databases.
    pub(crate) fn health(&self) -> Option<&Health> {
        match &self.engine {
            Engine::Sqlite(db) => Some(db.health()),
            Engine::Postgres(_) | Engine::InMemory(_) => None,
        }
    }

    /// Marks SQLite's store as in use: complete, and checked if it had to be.
    pub(crate) fn mark_in_use(&self) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(db) => db.mark_in_use(),
            Engine::Postgres(_) | Engine::InMemory(_) => Ok(()),
        }
    }

    /// Path of SQLite's database; `None` for the other databases.
    pub(crate) fn sqlite_file(&self) -> Option<&Path> {
        match &self.engine {
            Engine::Sqlite(db) => Some(db.file()),
            Engine::Postgres(_) | Engine::InMemory(_) => None,
        }
    }

    /// Checkpoints SQLite's log and truncates it; false where a reader prevented that.
    pub(crate) async fn truncate_log(&self) -> Result<bool, StoreError> {
        match &self.engine {
            Engine::Sqlite(db) => db.truncate_log().await,
            Engine::Postgres(_) | Engine::InMemory(_) => Ok(true),
        }
    }

    /// Current time by the clock that all servers share: PostgreSQL's, or this machine's.
    pub(crate) async fn now(&self) -> Result<Timestamp, StoreError> {
        match &self.engine {
            Engine::Postgres(_) if self.clock.is_machine() => {
                let now = self.row(postgres::NOW, &[], |row| row.time(0)).await?;
                now.ok_or_else(|| StoreError::corrupt("the server has no clock"))
            }
            Engine::Sqlite(_) | Engine::Postgres(_) | Engine::InMemory(_) => Ok(self.clock.now()),
        }
    }

    /// Closes the database; SQLite finishes the queued writes first.
    pub(crate) async fn close(&self) {
        match &self.engine {
            Engine::Sqlite(db) => db.close().await,
            Engine::Postgres(db) => db.close(),
            Engine::InMemory(_) => {}
        }
    }
}

/// Kind of a write: its queue and time limit on PostgreSQL, and whether it is retried there. SQLite has one queue, and
/// no limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WriteKind {
    /// A short write of this tenant.
    Tenant(TenantName),
    /// A long write of this tenant, which asks for [`Tx::waiters`] and stops early. Not retried, because the worker
    /// retries on its next round. On SQLite it is always the first write of its transaction.
    Batch(TenantName),
    /// A long write to this tenant's journal, by a worker that retries on its next round. A batch goes on for a while
    /// before it lets one of them in.
    Journal(TenantName),
    /// A short write of the server itself.
    Server,
    /// A server's heartbeat, which must not wait behind other writes.
    Heartbeat,
    /// A schema change, without a time limit and without retries.
    Schema,
}

impl WriteKind {
    /// Whether a write of this kind may take long.
    pub(crate) fn is_long(&self) -> bool {
        matches!(self, Self::Batch(_) | Self::Journal(_) | Self::Schema)
    }

    /// Whether PostgreSQL's driver retries a write of this kind.
    fn is_retried(&self) -> bool {
        !self.is_long()
    }

    /// Time limit of the transaction on PostgreSQL, before its COMMIT.
    fn limit(&self) -> Duration {
        match self {
            Self::Tenant(_) | Self::Server | Self::Heartbeat => WRITE_MAX,
            Self::Batch(_) | Self::Journal(_) => LONG_WRITE_MAX,
            Self::Schema => Duration::MAX,
        }
    }
}

/// Callers blocked behind a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waiters {
    /// No caller is blocked.
    None,
    /// Only events wait for their numbers.
    Journal,
    /// Only other batches are blocked.
    Batches,
    /// At least one request is blocked.
    Requests,
}

/// An open transaction.
#[derive(Clone)]
pub(crate) struct Tx {
    session: TxSession,
    clock: Clock,
    meter: Arc<StoreMeter>,
    /// Network of a database in memory, which simulates elapsed time and waiters.
    network: Option<Arc<dyn Network>>,
    has_journal: bool,
}

#[derive(Clone)]
enum TxSession {
    // The lock is never contended: a connection may change threads, but isn't `Sync`.
    Sqlite(Arc<Mutex<sqlite::Session>>),
    Postgres(Arc<postgres::Session>),
}

impl Tx {
    pub(crate) fn dialect(&self) -> Dialect {
        match self.session {
            TxSession::Sqlite(_) => Dialect::Sqlite,
            TxSession::Postgres(_) => Dialect::Postgres,
        }
    }

    /// Whether changes are written to the journals.
    pub(crate) fn has_journal(&self) -> bool {
        self.has_journal
    }

    /// Runs a query; `read` sees each row once, in order, and the values that it returns come back.
    pub(crate) async fn rows<T: Send>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T, StoreError> + Send,
    ) -> Result<Vec<T>, StoreError> {
        let mut found = Vec::new();
        self.read(sql, values, &mut collect_into(&mut found, read)).await?;
        Ok(found)
    }

    async fn read(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
        each: &mut ReadRow<'_>,
    ) -> Result<(), StoreError> {
        match &self.session {
            TxSession::Sqlite(session) => session.lock().rows(sql, values, each),
            TxSession::Postgres(session) => session.rows(sql, values, each).await,
        }
    }

    /// The first row of a query; `None` where it finds none.
    pub(crate) async fn row<T: Send>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T, StoreError> + Send,
    ) -> Result<Option<T>, StoreError> {
        self.rows(sql, values, read).await.map(|rows| rows.into_iter().next())
    }

    /// Runs a query whose text was built for this call and isn't cached as a prepared statement.
    pub(crate) async fn rows_once<T: Send>(
        &self,
        sql: &str,
        values: &[Value<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T, StoreError> + Send,
    ) -> Result<Vec<T>, StoreError> {
        let mut found = Vec::new();
        let mut each = collect_into(&mut found, read);
        match &self.session {
            TxSession::Sqlite(session) => session.lock().rows_once(sql, values, &mut each),
            TxSession::Postgres(session) => session.rows_once(sql, values, &mut each).await,
        }?;
        drop(each);
        Ok(found)
    }

    /// The first row of a query, locked against changes and other locks until the transaction ends.
    pub(crate) async fn lock_row<T: Send>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<T, StoreError> + Send,
    ) -> Result<Option<T>, StoreError> {
        let mut found = None;
        let mut each = |row: &Row<'_>| {
            let value = read(row)?;
            found.get_or_insert(value);
            Ok(())
        };
        self.lock(sql, values, &mut each).await?;
        Ok(found)
    }

    async fn lock(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
        each: &mut ReadRow<'_>,
    ) -> Result<(), StoreError> {
        match &self.session {
            // SQLite has one writer, so every row is locked already.
            TxSession::Sqlite(session) => session.lock().rows(sql, values, each),
            TxSession::Postgres(session) => session.locked_rows(sql, values, each).await,
        }
    }

    /// Runs a statement and returns the number of affected rows.
    pub(crate) async fn execute(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<u64, StoreError> {
        match &self.session {
            TxSession::Sqlite(session) => session.lock().execute(sql, values),
            TxSession::Postgres(session) => session.execute(sql, values).await,
        }
    }

    /// Runs several statements without values, as migrations do.
    pub(crate) async fn script(&self, sql: &str) -> Result<(), StoreError> {
        match &self.session {
            TxSession::Sqlite(session) => session.lock().script(sql),
            TxSession::Postgres(session) => session.script(sql).await,
        }
    }

    /// Writes to SQLite's database without changing data: counts up the number that SQLite leaves to applications.
    async fn touch(&self) -> Result<(), StoreError> {
        let found = self.row("PRAGMA user_version", &[], |row| row.integer(0)).await?;
        let next = (found.unwrap_or_default() + 1) % i64::from(i32::MAX);
        self.script(&format!("PRAGMA user_version = {next}")).await
    }

    /// Current time by the clock that all servers share: PostgreSQL's, or this machine's.
    pub(crate) async fn now(&self) -> Result<Timestamp, StoreError> {
        match &self.session {
            TxSession::Postgres(session) if self.clock.is_machine() => session.now().await,
            TxSession::Sqlite(_) | TxSession::Postgres(_) => Ok(self.clock.now()),
        }
    }

    /// Runs a statement once for each row of values.
    pub(crate) async fn execute_each<const N: usize>(
        &self,
        sql: &'static str,
        rows: &[[Value<'_>; N]],
    ) -> Result<(), StoreError> {
        match &self.session {
            TxSession::Sqlite(session) => session.lock().execute_each(sql, rows),
            TxSession::Postgres(session) => {
                for row in rows {
                    session.execute(sql, row).await?;
                }
                Ok(())
            }
        }
    }

    /// Whether the database is one in memory.
    pub(crate) fn is_simulated(&self) -> bool {
        self.network.is_some()
    }

    /// Time since `begun`, which a simulation may change.
    pub(crate) fn elapsed(&self, begun: Instant) -> Duration {
        let elapsed = begun.elapsed();
        self.network.as_ref().map_or(elapsed, |network| network.elapsed(elapsed))
    }

    /// Callers blocked behind this transaction's locks, on PostgreSQL those of other servers too. On PostgreSQL a batch
    /// never blocks another tenant's batch.
    pub(crate) async fn waiters(&self) -> Result<Waiters, StoreError> {
        if let Some(network) = &self.network {
            return Ok(network.waiters());
        }
        if let TxSession::Postgres(session) = &self.session {
            let others_wait = session.others_wait().await?;
            return Ok(if others_wait { Waiters::Requests } else { Waiters::None });
        }
        let (n_batches, n_journal) =
            (self.meter.batches_waiting.get(), self.meter.journal_writes_waiting.get());
        let n_writes = self.meter.writer_waiting.get() - n_batches - n_journal;
        // Creations that wait in `creation_groups` reach the writer only when those before them are done.
        let n_requests = n_writes + self.meter.gather_waiting.get();
        Ok(match (n_requests > 0, n_batches > 0, n_journal > 0) {
            (true, _, _) => Waiters::Requests,
            (false, true, _) => Waiters::Batches,
            (false, false, true) => Waiters::Journal,
            (false, false, false) => Waiters::None,
        })
    }

    /// PostgreSQL's connection, for a bulk statement; `None` on SQLite.
    pub(crate) fn postgres(&self) -> Option<&postgres::Session> {
        match &self.session {
            TxSession::Sqlite(_) => None,
            TxSession::Postgres(session) => Some(session),
        }
    }
}
