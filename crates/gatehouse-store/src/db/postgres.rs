//! PostgreSQL: a few shared connections for reads, a pool of exclusive ones for writes.
//!
//! Reads are pipelined: many requests share a connection, and none waits for a free one. A write has its connection
//! alone from BEGIN to COMMIT. A connection that is dropped in between is closed, which rolls the transaction back, and
//! never used again.
//!
//! While the database server is lost, calls wait. Reads and snapshots are retried, and so are writes that were surely rolled back, all
//! within [`RETRY_WINDOW`]. Only a write whose connection was lost during its COMMIT may have happened or not: its
//! caller gets that as an error.
//!
//! Functions that the rest of the store calls return boxed futures: the body of an async function is compiled in every
//! crate that awaits it, and this one would be compiled three times, with the driver under it.

mod address;
mod connect;
mod connection_task;
mod encryption;
mod fault;
mod retry;
mod session;
mod warnings;

pub use address::DatabaseUrl;
pub use retry::RETRY_WINDOW;
pub(crate) use session::Session;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::{BoxFuture, Either};
use gatehouse_fair_semaphore::{Capacity, FairSemaphore, Permit};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout, timeout_at};

use super::row::{Row, Value};
use super::snapshot_pool::SnapshotPool;
use super::work::{ReadRow, StartWork, TxFailed};
use super::{SnapshotFor, TxSession, WriteKind};
use crate::error::{ErrorKind, StoreError};
use crate::meter::{Measured, StoreMeter};
use connect::Connector;
use retry::{Tries, cancelled, is_transient};

/// Connections that all reads share.
const READERS: usize = 4;

/// Reads in flight on one connection before another connection is used.
const READS_TOGETHER: usize = 8;

/// Tenants' transactions at the same time. Tenants take turns. A tenant whose transactions take long, perhaps because
/// they wait for one another, leaves some slots to the others.
const WRITES: Capacity = Capacity {
    at_once: 10,
    at_once_of_tenant: 8,
    // The server's limit of requests bounds the queues, and so does each request's retry window.
    waiting_of_tenant: usize::MAX,
    waiting: usize::MAX,
};

/// The server's own transactions at the same time, besides the tenants'.
const SERVER_WRITES: usize = 2;

/// Heartbeats at the same time. No other transaction may use this slot: the server must not count as gone because it is
/// busy.
const HEARTBEATS: usize = 1;

/// Tenants' snapshots at the same time, besides the server's own one.
const SNAPSHOTS: usize = 3;

/// Tenants' scans at the same time.
const SCANS: usize = 2;

/// Least time between two calls of `suspect_all`.
const SUSPECT_INTERVAL: Duration = Duration::from_secs(5);

/// Time limit of one statement that reads: it finds its rows by their keys. Shorter than the retry window, because the
/// statement may only be waiting behind another on its connection.
const READ_MAX: Duration = Duration::from_secs(3);

/// Time limit of a COMMIT, which must reach the disk and the standbys.
const COMMIT_MAX: Duration = Duration::from_secs(10);

/// Begins a snapshot.
const BEGIN_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// A request's snapshot uses one core of the database, because point reads and health checks need the others. A recount
/// has no limit.
const ON_ONE_CORE: &str = "SET LOCAL max_parallel_workers_per_gather = 0";

/// Reads the database server's clock.
pub(crate) const NOW: &str =
    "SELECT CAST(FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000) AS BIGINT)";

/// Whether the server takes writes, and has gatehouse's tables.
const TAKES_WRITES: &str = "SELECT CAST(CASE WHEN pg_is_in_recovery() \
    OR current_setting('transaction_read_only') = 'on' OR to_regclass('tenant') IS NULL \
    THEN 0 ELSE 1 END AS BIGINT)";

/// Begins a write. Each statement must see what was committed before it took its locks, whatever the server's default
/// is.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

pub(crate) struct Postgres {
    connector: Connector,
    readers: [Reader; READERS],
    /// For `ping` alone, so that a full queue doesn't fail the health check.
    ping_connection: Reader,
    writers: Mutex<Vec<Arc<Session>>>,
    writes: FairSemaphore,
    server_slots: Semaphore,
    heartbeat_slots: Semaphore,
    snapshot_sessions: Mutex<Vec<Arc<Session>>>,
    snapshots: SnapshotPool,
    /// Connections made before this time may hang, because one of them did.
    suspect_before: Mutex<Option<Instant>>,
    meter: Arc<StoreMeter>,
}

/// A shared connection, made when it is first needed and again after it was lost.
#[derive(Default)]
struct Reader {
    n_in_flight: AtomicUsize,
    session: Mutex<Option<Arc<Session>>>,
    connecting: tokio::sync::Mutex<()>,
}

impl Postgres {
    pub(crate) fn new(url: &DatabaseUrl, meter: Arc<StoreMeter>) -> Self {
        Self {
            connector: Connector::to(url),
            readers: Default::default(),
            ping_connection: Reader::default(),
            writers: Mutex::default(),
            writes: FairSemaphore::new(WRITES),
            server_slots: Semaphore::new(SERVER_WRITES),
            heartbeat_slots: Semaphore::new(HEARTBEATS),
            snapshot_sessions: Mutex::default(),
            snapshots: SnapshotPool::new(SNAPSHOTS, SCANS),
            suspect_before: Mutex::default(),
            meter,
        }
    }

    /// Runs one statement that reads, and retries it while the database server is lost.
    pub(crate) fn read<'a>(
        &'a self,
        sql: &'static str,
        values: &'a [Value<'a>],
        each: &'a mut ReadRow<'_>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let (reader, _in_flight) = self.choose_reader();
            let mut tries = Tries::begin();
            loop {
                let session = reader.session(&self.connector, tries.until, &self.meter).await?;
                let error = match timeout(READ_MAX, session.rows(sql, values, each)).await {
                    Ok(Err(StoreError::TooSlow)) => cancelled(),
                    Ok(Err(error @ StoreError::Unavailable(_))) => error,
                    Ok(result) => return result,
                    Err(_) => {
                        session.give_up();
                        self.suspect_all();
                        StoreError::Unavailable("the database does not answer".into())
                    }
                };
                tries.again(error, &self.meter)?;
            }
        })
    }

    /// Runs a write, and retries it where its kind allows that and the write surely did not happen.
    pub(crate) fn write<'a>(
        &'a self,
        kind: &'a WriteKind,
        mut start: StartWork,
    ) -> BoxFuture<'a, Result<(), TxFailed>> {
        Box::pin(async move {
            let mut tries = Tries::begin();
            loop {
                match self.transact(kind, tries.until, &mut start).await {
                    Err(failed) if kind.is_retried() && is_transient(&failed) => {
                        tries.again(failed, &self.meter)?;
                    }
                    result => return result,
                }
            }
        })
    }

    /// Runs a statement outside of a transaction.
    pub(crate) fn run_outside_transaction<'a>(
        &'a self,
        sql: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let session =
                self.connector.connect(Instant::now() + RETRY_WINDOW, &self.meter).await?;
            if !session.is_pooled() {
                // The connection is used for this statement alone, so no other one gets these settings.
                session.script("SET statement_timeout = 0").await?;
                session.script("SET lock_timeout = 0").await?;
            }
            session.script(sql).await.map_err(|error| match error {
                StoreError::TooSlow => StoreError::Unavailable(
                    "the database has cancelled the transaction: its statement_timeout may be too short".into(),
                ),
                error => error,
            })
        })
    }

    async fn transact(
        &self,
        kind: &WriteKind,
        until: Instant,
        start: &mut StartWork,
    ) -> Result<(), TxFailed> {
        let slow = |what: &str| StoreError::Unavailable(what.into());
        let permit = timeout_at(until, self.permit(kind)).await;
        let _permit = permit.map_err(|_| slow("too many transactions are in progress"))??;
        // Taken out of the pool until it is known to be clean: dropped early, it is closed.
        let session = self.idle(&self.writers, until).await?;
        // BEGIN and the first statement go out in one packet.
        let work = start(TxSession::Postgres(Arc::clone(&session)));
        let run = async {
            let (begun, result) = futures_util::join!(session.script(BEGIN), work);
            begun?;
            Ok::<(), TxFailed>(result?)
        };
        let result = timeout(kind.limit(), run).await.map_err(|_| {
            session.give_up();
            self.suspect_all();
            slow("a transaction exceeded its time limit")
        });
        if let Err(failed) = result? {
            if session.is_given_up() {
                // The other connections may lead to the same server.
                self.suspect_all();
            } else if let Ok(Ok(())) = timeout(READ_MAX, session.script("ROLLBACK")).await {
                self.writers.lock().push(session);
            }
            return Err(match failed.kind() {
                Some(ErrorKind::TooSlow) => cancelled().into(),
                _ => failed,
            });
        }
        match timeout(COMMIT_MAX, session.commit()).await {
            Ok(Ok(warning)) => {
                self.writers.lock().push(session);
                // This server has committed; the synchronous standby may not have the transaction.
                warning.map_or(Ok(()), |warning| {
                    Err(StoreError::OutcomeUnknown(warning.into()).into())
                })
            }
            Ok(Err(cause)) if fault::is_rolled_back(&cause) => {
                self.writers.lock().push(session);
                Err(StoreError::from(cause).into())
            }
            Ok(Err(cause)) => Err(StoreError::OutcomeUnknown(cause.into()).into()),
            Err(_) => {
                session.give_up();
                self.suspect_all();
                Err(StoreError::OutcomeUnknown("the COMMIT was not answered in time".into()).into())
            }
        }
    }

    /// Waits for a slot of the write's queue, which is freed when the returned value is dropped.
    async fn permit(
        &self,
        kind: &WriteKind,
    ) -> Result<Either<Permit, SemaphorePermit<'_>>, StoreError> {
        let slots = match kind {
            WriteKind::Tenant(tenant) | WriteKind::Batch(tenant) | WriteKind::Journal(tenant) => {
                let permit = self.writes.take(tenant).await.map_err(|_| StoreError::closed())?;
                let is_open = !self.server_slots.is_closed();
                return if is_open { Ok(Either::Left(permit)) } else { Err(StoreError::closed()) };
            }
            WriteKind::Server | WriteKind::Schema => &self.server_slots,
            WriteKind::Heartbeat => &self.heartbeat_slots,
        };
        slots.acquire().await.map(Either::Right).map_err(|_| StoreError::closed())
    }

    /// Number of tenants' transactions that wait for a slot.
    #[cfg(test)]
    pub(crate) fn n_waiting(&self) -> usize {
        self.writes.n_waiting()
    }

    /// Runs several reads in one snapshot, on an exclusive connection; retries all of them if the connection was lost.
    pub(crate) fn snapshot<'a>(
        &'a self,
        caller: SnapshotFor<'a>,
        mut start: StartWork,
    ) -> BoxFuture<'a, Result<(), TxFailed>> {
        let limit = caller.limit();
        Box::pin(async move {
            let _permit = self.snapshots.enter(caller, limit).await?;
            let mut tries = Tries::begin();
            loop {
                match self.try_snapshot(limit, tries.until, &mut start).await {
                    Err(failed) if is_transient(&failed) => tries.again(failed, &self.meter)?,
                    result => return result,
                }
            }
        })
    }

    async fn try_snapshot(
        &self,
        limit: Option<Duration>,
        until: Instant,
        start: &mut StartWork,
    ) -> Result<(), TxFailed> {
        let session = self.idle(&self.snapshot_sessions, until).await?;
        // The server's time limit is the same; zero means none.
        let milliseconds = limit.map_or(0, |limit| limit.as_millis());
        let cores = if limit.is_some() { ON_ONE_CORE } else { "" };
        let begin =
            format!("{BEGIN_SNAPSHOT}; SET LOCAL statement_timeout = {milliseconds}; {cores}");
        let read = async {
            session.script(&begin).await?;
            Ok(start(TxSession::Postgres(Arc::clone(&session))).await?)
        };
        let result = match limit {
            Some(limit) => match timeout(limit, read).await {
                Ok(result) => result,
                Err(_) => {
                    // The server would continue, beyond the end of the slot.
                    session.give_up();
                    return Err(StoreError::TooSlow.into());
                }
            },
            None => read.await,
        };
        if let Ok(Ok(())) = timeout(READ_MAX, session.script("ROLLBACK")).await {
            self.snapshot_sessions.lock().push(session);
        }
        result
    }

    /// Health check: whether the database answers, takes writes and has gatehouse's tables, within this time.
    pub(crate) fn ping<'a>(&'a self, limit: Duration) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let until = Instant::now() + limit;
            loop {
                let session =
                    self.ping_connection.session(&self.connector, until, &self.meter).await?;
                let mut takes_writes = false;
                let mut each = |row: &Row<'_>| {
                    takes_writes = row.integer(0)? == 1;
                    Ok(())
                };
                match timeout_at(until, session.rows(TAKES_WRITES, &[], &mut each)).await {
                    Ok(Ok(())) if takes_writes => return Ok(()),
                    Ok(Ok(())) => {
                        // Another host may take writes.
                        session.give_up();
                        self.suspect_all();
                        let why = "the database takes no writes, or holds no store";
                        return Err(StoreError::Unavailable(why.into()));
                    }
                    // The connection was lost between two health checks.
                    Ok(Err(StoreError::Unavailable(_))) if session.is_closed() => {}
                    Ok(Err(error)) => return Err(error),
                    Err(_) => {
                        session.give_up();
                        self.suspect_all();
                        return Err(StoreError::Unavailable("the database does not answer".into()));
                    }
                }
            }
        })
    }

    /// Makes all present connections suspect, after one of them has hung: the others may lead to the same server. Not
    /// repeated for a while, because new connections would slow a slow database further.
    fn suspect_all(&self) {
        let mut suspect_before = self.suspect_before.lock();
        let now = Instant::now();
        if suspect_before.is_none_or(|last| now.duration_since(last) >= SUSPECT_INTERVAL) {
            *suspect_before = Some(now);
            for reader in self.shared() {
                reader.session.lock().iter().for_each(|session| session.give_up());
            }
        }
    }

    /// The connections that several calls use at the same time.
    fn shared(&self) -> impl Iterator<Item = &Reader> {
        self.readers.iter().chain([&self.ping_connection])
    }

    fn is_suspect(&self, session: &Session) -> bool {
        self.suspect_before.lock().is_some_and(|suspect_before| session.made() <= suspect_before)
    }

    /// The first connection with few reads in flight, or the one with the fewest: reads that share a connection share
    /// packets.
    fn choose_reader(&self) -> (&Reader, InFlight<'_>) {
        let n_in_flight = |reader: &&Reader| reader.n_in_flight.load(Ordering::Relaxed);
        let free = self.readers.iter().find(|reader| n_in_flight(reader) < READS_TOGETHER);
        let reader = free.or_else(|| self.readers.iter().min_by_key(n_in_flight));
        let reader = reader.unwrap_or(&self.readers[0]);
        (reader, InFlight::begin(&reader.n_in_flight))
    }

    async fn idle(
        &self,
        pool: &Mutex<Vec<Arc<Session>>>,
        until: Instant,
    ) -> Result<Arc<Session>, StoreError> {
        loop {
            let idle = pool.lock().pop();
            match idle {
                Some(session) if session.is_closed() || self.is_suspect(&session) => {}
                Some(session) => return Ok(session),
                None => return self.connector.connect(until, &self.meter).await.map(Arc::new),
            }
        }
    }

    pub(crate) fn close(&self) {
        self.server_slots.close();
        self.heartbeat_slots.close();
        self.writers.lock().clear();
        self.snapshot_sessions.lock().clear();
        for reader in self.shared() {
            reader.session.lock().take();
        }
    }
}

/// Counts a read in flight on its connection until it is dropped.
struct InFlight<'a>(&'a AtomicUsize);

impl<'a> InFlight<'a> {
    fn begin(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Reader {
    async fn session(
        &self,
        connector: &Connector,
        until: Instant,
        meter: &StoreMeter,
    ) -> Result<Arc<Session>, StoreError> {
        if let Some(session) = self.open() {
            return Ok(session);
        }
        // One caller connects, the others wait for it.
        let connecting = timeout_at(until, self.connecting.lock()).await;
        let _connecting = connecting.map_err(|_| connector.outage())?;
        if let Some(session) = self.open() {
            return Ok(session);
        }
        // Drops the lost connection, so that it is no longer counted as open.
        self.session.lock().take();
        let session = Arc::new(connector.connect(until, meter).await?);
        session.share();
        *self.session.lock() = Some(Arc::clone(&session));
        Ok(session)
    }

    fn open(&self) -> Option<Arc<Session>> {
        self.session.lock().as_ref().filter(|session| !session.is_closed()).cloned()
    }
}
