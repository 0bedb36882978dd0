//! PostgreSQL: a few shared connections for reads, a pool of exclusive ones for writes.
//!
//! Reads are pipelined: many requests are under way on one connection, and nobody waits for a free
//! one. A write has its connection alone from BEGIN to COMMIT; one that is dropped half-way is closed,
//! which rolls it back, and never used again.
//!
//! A server that goes away is a pause. Reads and snapshots are asked again, and writes that were surely undone are done
//! again, both for as long as somebody who waits has [`PATIENCE`]. Only a write whose connection was lost
//! in the middle of its COMMIT is neither done nor undone: that is told, not guessed.
//!
//! What the rest of the store calls is boxed: the body of an async function is compiled in every crate that awaits it, and
//! this one with the driver under it would be compiled three times.

mod address;
mod carrier;
mod encryption;
mod fault;
mod session;
mod warnings;
mod way;

pub use address::DatabaseUrl;
pub(crate) use session::Session;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::{BoxFuture, Either};
use gatehouse_turns::{Places, Turn, Turns};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout, timeout_at};

use super::lane::Lane;
use super::row::{Row, Value};
use super::work::{ReadRow, StartWork, TxFailed};
use super::{Line, Link, SnapshotFor};
use crate::error::{ErrorKind, StoreError};
use crate::meter::{Measured, StoreMeter};
use way::Way;

/// Connections that all reads share.
const READERS: usize = 4;

/// Reads that go over one of them before another one is used.
const READS_TOGETHER: usize = 8;

/// Transactions of tenants at the same time. Tenants take turns with them, and those of one that take long, perhaps because
/// they wait for each other, leave some to the others.
const WRITES: Places = Places {
    at_once: 10,
    at_once_of_tenant: 8,
    // The requests that a server takes bound the queues, and so does the patience of each.
    waiting_of_tenant: usize::MAX,
    waiting: usize::MAX,
};

/// Transactions of the server's own beside them.
const OWN: usize = 2;

/// Transactions by which a server says that it is there, beside the others: whoever fills those must not silence it.
const BEATS: usize = 1;

/// Snapshots at the same time.
const SNAPSHOTS: usize = 4;

/// How long who asks for something waits for a connection, and for another try.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// How long connections are trusted at least that came about after others had hung.
const DOUBT_INTERVAL: Duration = Duration::from_secs(5);

/// How often something is tried in all.
const TRIES_MAX: u32 = 4;

/// How long one statement that reads may take: it finds its rows by their keys. Shorter than anyone's patience, since
/// it may only wait behind another on its connection.
const READ_MAX: Duration = Duration::from_secs(3);

/// How long a transaction may take before its COMMIT.
const WRITE_MAX: Duration = Duration::from_secs(15);

/// How long a COMMIT may take: the disks and the standbys must have it.
const COMMIT_MAX: Duration = Duration::from_secs(10);

/// What every snapshot begins with.
const BEGIN_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Who looks at many rows for a request uses one core of the database's: point reads and checks want the others. An audit
/// has no limit, and takes what there is.
const ON_ONE_CORE: &str = "SET LOCAL max_parallel_workers_per_gather = 0";

/// The server's clock.
pub(crate) const NOW: &str =
    "SELECT CAST(FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000) AS BIGINT)";

/// Whether the server takes writes, and has our tables.
const TAKES_WRITES: &str = "SELECT CAST(CASE WHEN pg_is_in_recovery() \
    OR current_setting('transaction_read_only') = 'on' OR to_regclass('tenant') IS NULL \
    THEN 0 ELSE 1 END AS BIGINT)";

/// What every write begins with. Each statement must see what was committed before it took its locks,
/// whatever the server's default is.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

pub(crate) struct Postgres {
    way: Way,
    readers: [Reader; READERS],
    /// For `ping` alone: what others wait for says nothing about the database.
    pinged: Reader,
    writers: Mutex<Vec<Arc<Session>>>,
    writes: Turns,
    own_free: Semaphore,
    beats_free: Semaphore,
    lookers: Mutex<Vec<Arc<Session>>>,
    snapshots: Lane,
    /// Connections that came about before this may hang: one of them did.
    doubted: Mutex<Option<Instant>>,
    meter: Arc<StoreMeter>,
}

/// A shared connection, made when it is first needed and again when it was lost.
#[derive(Default)]
struct Reader {
    n_under_way: AtomicUsize,
    session: Mutex<Option<Arc<Session>>>,
    connecting: tokio::sync::Mutex<()>,
}

impl Postgres {
    pub(crate) fn new(url: &DatabaseUrl, meter: Arc<StoreMeter>) -> Self {
        Self {
            way: Way::to(url),
            readers: Default::default(),
            pinged: Reader::default(),
            writers: Mutex::default(),
            writes: Turns::new(WRITES),
            own_free: Semaphore::new(OWN),
            beats_free: Semaphore::new(BEATS),
            lookers: Mutex::default(),
            snapshots: Lane::new(SNAPSHOTS),
            doubted: Mutex::default(),
            meter,
        }
    }

    pub(crate) fn read<'a>(
        &'a self,
        sql: &'static str,
        values: &'a [Value<'a>],
        each: &'a mut ReadRow<'_>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let (reader, _under_way) = self.choose_reader();
            let mut tries = Tries::begin();
            loop {
                let session = reader.session(&self.way, tries.until, &self.meter).await?;
                let error = match timeout(READ_MAX, session.rows(sql, values, each)).await {
                    Ok(Err(StoreError::TooSlow)) => cancelled(),
                    Ok(Err(error @ StoreError::Unavailable(_))) => error,
                    Ok(result) => return result,
                    Err(_) => {
                        session.give_up();
                        self.doubt();
                        StoreError::Unavailable("the database does not answer".into())
                    }
                };
                tries.again(error, &self.meter)?;
            }
        })
    }

    /// Runs a write, and runs it again where it has surely not happened and may happen now.
    pub(crate) fn write<'a>(
        &'a self,
        line: Line,
        mut start: StartWork,
    ) -> BoxFuture<'a, Result<(), TxFailed>> {
        Box::pin(async move {
            let mut tries = Tries::begin();
            loop {
                match self.transact(&line, tries.until, WRITE_MAX, &mut start).await {
                    Err(failed) if is_passing(&failed) => tries.again(failed, &self.meter)?,
                    result => return result,
                }
            }
        })
    }

    /// Runs a write with its own deadline, without retrying: the worker retries on its next round.
    pub(crate) fn write_once<'a>(
        &'a self,
        line: Line,
        limit: Duration,
        mut start: StartWork,
    ) -> BoxFuture<'a, Result<(), TxFailed>> {
        Box::pin(
            async move { self.transact(&line, Instant::now() + PATIENCE, limit, &mut start).await },
        )
    }

    /// Runs a statement outside of a transaction.
    pub(crate) fn run_alone<'a>(&'a self, sql: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let session = self.way.connect(Instant::now() + PATIENCE, &self.meter).await?;
            if !session.is_pooled() {
                // The connection ends with the statement, so no other one has these settings.
                session.script("SET statement_timeout = 0").await?;
                session.script("SET lock_timeout = 0").await?;
            }
            session.script(sql).await.map_err(|error| match error {
                StoreError::TooSlow => StoreError::Unavailable(
                    "the database has cancelled it: its statement_timeout may be too short".into(),
                ),
                error => error,
            })
        })
    }

    async fn transact(
        &self,
        line: &Line,
        until: Instant,
        limit: Duration,
        start: &mut StartWork,
    ) -> Result<(), TxFailed> {
        let slow = |what: &str| StoreError::Unavailable(what.into());
        let turn = timeout_at(until, self.turn(line)).await;
        let _turn = turn.map_err(|_| slow("too many transactions are under way"))??;
        // Out of the pool until it is known to be clean: dropped half-way, it is closed.
        let session = self.idle(&self.writers, until).await?;
        // BEGIN and the first statement travel together.
        let work = start(Link::Postgres(Arc::clone(&session)));
        let run = async {
            let (begun, result) = futures_util::join!(session.script(BEGIN), work);
            begun?;
            Ok::<(), TxFailed>(result?)
        };
        let result = timeout(limit, run).await.map_err(|_| {
            session.give_up();
            self.doubt();
            slow("a transaction took longer than it may")
        });
        if let Err(failed) = result? {
            if session.is_given_up() {
                // The others may lead to the same server.
                self.doubt();
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
                warning.map_or(Ok(()), |warning| Err(StoreError::Unsure(warning.into()).into()))
            }
            Ok(Err(cause)) if fault::is_undone(&cause) => {
                self.writers.lock().push(session);
                Err(StoreError::from(cause).into())
            }
            Ok(Err(cause)) => Err(StoreError::Unsure(cause.into()).into()),
            Err(_) => {
                session.give_up();
                self.doubt();
                Err(StoreError::Unsure("the COMMIT was not answered in time".into()).into())
            }
        }
    }

    /// Waits for the turn of a transaction, which is over when what comes back is dropped.
    async fn turn(&self, line: &Line) -> Result<Either<Turn, SemaphorePermit<'_>>, StoreError> {
        let own = match line {
            Line::Of(tenant) => {
                let turn = self.writes.take(tenant).await.map_err(|_| StoreError::gone())?;
                let is_open = !self.own_free.is_closed();
                return if is_open { Ok(Either::Left(turn)) } else { Err(StoreError::gone()) };
            }
            Line::Own => &self.own_free,
            Line::Beats => &self.beats_free,
        };
        own.acquire().await.map(Either::Right).map_err(|_| StoreError::gone())
    }

    /// How many tenants' transactions wait for their turn.
    #[cfg(test)]
    pub(crate) fn n_waiting(&self) -> usize {
        self.writes.n_waiting()
    }

    /// Reads several things at one moment, on a connection of its own, and all of them again where that was lost.
    pub(crate) fn snapshot<'a>(
        &'a self,
        caller: SnapshotFor<'a>,
        mut start: StartWork,
    ) -> BoxFuture<'a, Result<(), TxFailed>> {
        let limit = caller.limit();
        Box::pin(async move {
            let _turn = self.snapshots.enter(caller.tenant(), limit).await?;
            let mut tries = Tries::begin();
            loop {
                match self.look(limit, tries.until, &mut start).await {
                    Err(failed) if is_passing(&failed) => tries.again(failed, &self.meter)?,
                    result => return result,
                }
            }
        })
    }

    async fn look(
        &self,
        limit: Option<Duration>,
        until: Instant,
        start: &mut StartWork,
    ) -> Result<(), TxFailed> {
        let session = self.idle(&self.lookers, until).await?;
        // The server gives up when we do: zero is no limit.
        let milliseconds = limit.map_or(0, |limit| limit.as_millis());
        let cores = if limit.is_some() { ON_ONE_CORE } else { "" };
        let begin =
            format!("{BEGIN_SNAPSHOT}; SET LOCAL statement_timeout = {milliseconds}; {cores}");
        let read = async {
            session.script(&begin).await?;
            Ok(start(Link::Postgres(Arc::clone(&session))).await?)
        };
        let result = match limit {
            Some(limit) => match timeout(limit, read).await {
                Ok(result) => result,
                Err(_) => {
                    // The server would work on for nothing, and for longer than its turn.
                    session.give_up();
                    return Err(StoreError::TooSlow.into());
                }
            },
            None => read.await,
        };
        if let Ok(Ok(())) = timeout(READ_MAX, session.script("ROLLBACK")).await {
            self.lookers.lock().push(session);
        }
        result
    }

    /// Whether the database answers, takes writes and has our tables, within this time.
    pub(crate) fn ping<'a>(&'a self, limit: Duration) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let until = Instant::now() + limit;
            loop {
                let session = self.pinged.session(&self.way, until, &self.meter).await?;
                let mut takes_writes = false;
                let mut each = |row: &Row<'_>| {
                    takes_writes = row.integer(0)? == 1;
                    Ok(())
                };
                match timeout_at(until, session.rows(TAKES_WRITES, &[], &mut each)).await {
                    Ok(Ok(())) if takes_writes => return Ok(()),
                    Ok(Ok(())) => {
                        // Another host may.
                        session.give_up();
                        self.doubt();
                        let why = "the database takes no writes, or holds no store";
                        return Err(StoreError::Unavailable(why.into()));
                    }
                    // It went away between two looks.
                    Ok(Err(StoreError::Unavailable(_))) if session.is_closed() => {}
                    Ok(Err(error)) => return Err(error),
                    Err(_) => {
                        session.give_up();
                        self.doubt();
                        return Err(StoreError::Unavailable("the database does not answer".into()));
                    }
                }
            }
        })
    }

    /// Doubts all connections that there are: one of them has hung, and the others may lead to the same place. Not
    /// again for a while, since a database that is only slow would be slower for it.
    fn doubt(&self) {
        let mut doubted = self.doubted.lock();
        let now = Instant::now();
        if doubted.is_none_or(|last| now.duration_since(last) >= DOUBT_INTERVAL) {
            *doubted = Some(now);
            for reader in self.shared() {
                reader.session.lock().iter().for_each(|session| session.give_up());
            }
        }
    }

    /// The connections that many use at the same time.
    fn shared(&self) -> impl Iterator<Item = &Reader> {
        self.readers.iter().chain([&self.pinged])
    }

    fn is_doubted(&self, session: &Session) -> bool {
        self.doubted.lock().is_some_and(|doubted| session.made() <= doubted)
    }

    /// The first connection on which few reads are under way, or the one with the fewest: those that share a
    /// connection travel together.
    fn choose_reader(&self) -> (&Reader, UnderWay<'_>) {
        let n_under_way = |reader: &&Reader| reader.n_under_way.load(Ordering::Relaxed);
        let free = self.readers.iter().find(|reader| n_under_way(reader) < READS_TOGETHER);
        let reader = free.or_else(|| self.readers.iter().min_by_key(n_under_way));
        let reader = reader.unwrap_or(&self.readers[0]);
        (reader, UnderWay::begin(&reader.n_under_way))
    }

    async fn idle(
        &self,
        pool: &Mutex<Vec<Arc<Session>>>,
        until: Instant,
    ) -> Result<Arc<Session>, StoreError> {
        loop {
            let idle = pool.lock().pop();
            match idle {
                Some(session) if session.is_closed() || self.is_doubted(&session) => {}
                Some(session) => return Ok(session),
                None => return self.way.connect(until, &self.meter).await.map(Arc::new),
            }
        }
    }

    pub(crate) fn close(&self) {
        self.own_free.close();
        self.beats_free.close();
        self.writers.lock().clear();
        self.lookers.lock().clear();
        for reader in self.shared() {
            reader.session.lock().take();
        }
    }
}

/// A read counts on its connection as long as it is under way.
struct UnderWay<'a>(&'a AtomicUsize);

impl<'a> UnderWay<'a> {
    fn begin(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Reader {
    async fn session(
        &self,
        way: &Way,
        until: Instant,
        meter: &StoreMeter,
    ) -> Result<Arc<Session>, StoreError> {
        if let Some(session) = self.open() {
            return Ok(session);
        }
        // One connects, the others wait for it.
        let connecting = timeout_at(until, self.connecting.lock()).await;
        let _connecting = connecting.map_err(|_| way.trouble())?;
        if let Some(session) = self.open() {
            return Ok(session);
        }
        // The one that was lost is no connection any more.
        self.session.lock().take();
        let session = Arc::new(way.connect(until, meter).await?);
        session.share();
        *self.session.lock() = Some(Arc::clone(&session));
        Ok(session)
    }

    fn open(&self) -> Option<Arc<Session>> {
        self.session.lock().as_ref().filter(|session| !session.is_closed()).cloned()
    }
}

/// How often something was tried, and until when it may be tried again.
struct Tries {
    until: Instant,
    n: u32,
}

impl Tries {
    fn begin() -> Self {
        Self { until: Instant::now() + PATIENCE, n: 1 }
    }

    /// Counts one more try, or gives the error back when it was one too many.
    fn again<E>(&mut self, error: E, meter: &StoreMeter) -> Result<(), E> {
        if self.n >= TRIES_MAX || Instant::now() >= self.until {
            return Err(error);
        }
        self.n += 1;
        meter.retries.inc();
        Ok(())
    }
}

/// The database was told to stop something short, by whomever: it may be asked again.
fn cancelled() -> StoreError {
    StoreError::Unavailable("the database has cancelled it".into())
}

fn is_passing(failed: &TxFailed) -> bool {
    failed.kind() == Some(ErrorKind::Unavailable)
}
