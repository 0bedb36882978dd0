//! SQLite: one writer thread that gathers, and readers on whatever thread asks.
//!
//! A commit costs one flush however many requests it carries. So the writer takes everything that
//! waits, runs it in one transaction with a savepoint for each write behind the first (one failure stays
//! its own), flushes once, and only then answers all of them. While it flushes, the next ones gather. Creations of one
//! tenant come as one write already (`gather.rs`).

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle, ThreadId};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rusqlite::config::DbConfig;
use rusqlite::ffi::{SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_UNIQUE};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use tokio::sync::{mpsc, oneshot};

use super::Length;
use super::checkpoint;
use super::lane::Lane;
use super::row::{Row, Value};
use super::work::{ReadRow, StartWork, TxFailed};
use crate::error::StoreError;
use crate::guard::guard;
use crate::meter::{Held, StoreMeter};

/// Writes that may wait for the writer; those after them wait to be let in.
const QUEUE_MAX: usize = 4096;

/// Writes in one transaction: more would make the first of them wait too long for its answer. The creations of a tenant
/// that wait together are one of them.
const GATHER_MAX: usize = 512;

/// How long somebody waits for another process that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Statements that each connection keeps ready.
const STATEMENTS_MAX: usize = 128;

/// What each reading connection may keep of the database for itself: of what has not come out of the log yet. All else it
/// reads where the system has it.
const CACHE_KIBIBYTES: i64 = 4 * 1024;

/// As much of the database as SQLite maps into memory at most: reading there takes neither a call to the system nor a
/// copy for each connection. What lies beyond is read piece by piece.
const MAPPED_BYTES: i64 = 0x7fff_0000;

/// What the writer may keep of the database. New usernames are random: each one changes another page of
/// their index, and those of a large batch together change most of them. Were they read, written and read
/// again for want of room, a batch would take longer.
const WRITER_CACHE_KIBIBYTES: i64 = 64 * 1024;

/// Steps of SQLite's between two looks at the clock, where a read has a limit: well under a millisecond.
const STEPS_BETWEEN_LOOKS: i32 = 10_000;

/// Half of the cores may look at many rows; the others go on answering.
fn snapshots_at_once() -> usize {
    thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(2))
}

type Link = Arc<Mutex<Connection>>;

/// Runs a write, or hears why there is no transaction to run it in. What it returns is called with the fate
/// of the commit.
type Job = Box<dyn FnOnce(Result<Room<'_>, &StoreError>) -> Answer + Send>;
type Answer = Box<dyn FnOnce(Result<(), &StoreError>) + Send>;

/// Where a write runs.
#[derive(Clone, Copy)]
enum Room<'a> {
    /// In a transaction that nobody has written in yet. When it fails, that is simply begun anew. A savepoint
    /// would have SQLite copy every page before it changes, which costs a large write dearly.
    Fresh(&'a Link),
    /// In a savepoint, behind others.
    Shared(&'a Link),
}

/// The log, and who moves it.
struct Log {
    turn: checkpoint::Turn,
    mover: JoinHandle<()>,
}

/// What the writer is asked for.
enum Order {
    /// A write, together with others; a long one only before others.
    Write(Length, Job),
    /// To move the log into the database and to cut it off: whether that went well.
    TruncateLog(oneshot::Sender<Result<bool, StoreError>>),
    /// To let go of the pages that were read and written: there was much to do, and now there isn't.
    Rest,
}

pub(crate) struct Sqlite {
    path: PathBuf,
    /// Idle read connections, and who had them last. There are at most as many as threads that read at the same time.
    readers: Mutex<Vec<(ThreadId, Connection)>>,
    snapshots: Lane,
    queue: Mutex<Option<mpsc::Sender<Order>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    meter: Arc<StoreMeter>,
}

impl Sqlite {
    pub(crate) fn open(path: &Path, meter: Arc<StoreMeter>) -> Result<Self, StoreError> {
        // For its owner alone, whatever the directory allows; SQLite gives its other files the same.
        let made =
            OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
        drop(made.map_err(|cause| StoreError::Unavailable(cause.into()))?);
        let mut connection = Connection::open(path)?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;",
        )?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIBIBYTES)?;
        keep_plans(&connection)?;
        let (sender, receiver) = mpsc::channel(QUEUE_MAX);
        let turn = checkpoint::Turn::default();
        // It must not keep the queue open.
        let queue = sender.downgrade();
        let at_rest = move || {
            // Where the queue is full, nobody rests.
            let _ = queue.upgrade().map(|queue| queue.try_send(Order::Rest));
        };
        let mover = checkpoint::start(path, &mut connection, turn.clone(), at_rest)?;
        let log = Log { turn, mover };
        let writer = thread::Builder::new()
            .name("sqlite-writer".into())
            .spawn({
                let meter = Arc::clone(&meter);
                move || write_until_closed(Arc::new(Mutex::new(connection)), log, receiver, &meter)
            })
            .map_err(|cause| StoreError::Unavailable(cause.into()))?;
        let queue = Mutex::new(Some(sender));
        Ok(Self { queue, writer: Mutex::new(Some(writer)), ..Self::attach(path, meter) })
    }

    /// One that can only be read: another process may be writing it.
    pub(crate) fn attach(path: &Path, meter: Arc<StoreMeter>) -> Self {
        Self {
            path: path.into(),
            readers: Mutex::default(),
            snapshots: Lane::new(snapshots_at_once()),
            queue: Mutex::default(),
            writer: Mutex::default(),
            meter,
        }
    }

    /// The file of the database.
    pub(crate) fn file(&self) -> &Path {
        &self.path
    }

    /// Reads on the calling thread: a seek costs less than handing it to another.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let connection = self.take_reader()?;
        let result = read(&connection);
        self.put_back(connection);
        result
    }

    /// An idle connection, at best the one that this thread had last: what it needs lies near the core by then.
    fn take_reader(&self) -> Result<Connection, StoreError> {
        let own = thread::current().id();
        let idle = {
            let mut readers = guard(&self.readers);
            let nth = readers.iter().rposition(|(last, _)| *last == own);
            nth.map(|nth| readers.swap_remove(nth)).or_else(|| readers.pop())
        };
        idle.map_or_else(|| self.open_reader(), |(_, connection)| Ok(connection))
    }

    fn put_back(&self, connection: Connection) {
        guard(&self.readers).push((thread::current().id(), connection));
    }

    fn open_reader(&self) -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_update(None, "cache_size", -CACHE_KIBIBYTES)?;
        connection.pragma_update(None, "mmap_size", MAPPED_BYTES)?;
        keep_plans(&connection)?;
        Ok(connection)
    }

    /// Reads several things at one moment, on a thread where that may take long.
    pub(crate) fn snapshot<'a>(
        &'a self,
        limit: Option<Duration>,
        mut start: StartWork,
    ) -> BoxFuture<'a, Result<(), TxFailed>> {
        Box::pin(async move {
            let turn = self.snapshots.enter(limit).await?;
            let mut connection = self.take_reader()?;
            let read = tokio::task::spawn_blocking(move || {
                let _turn = turn;
                let deadline = limit.map(|limit| Instant::now() + limit);
                let stop = deadline.map(|deadline| move || Instant::now() > deadline);
                let begun = connection.progress_handler(STEPS_BETWEEN_LOOKS, stop);
                begun.and_then(|()| connection.execute_batch("BEGIN")).map_err(StoreError::from)?;
                let link = Arc::new(Mutex::new(connection));
                let work = start(super::Link::Sqlite(Arc::clone(&link)));
                let result = work.now_or_never().expect("nothing on SQLite waits");
                // A connection that the work has kept, or whose transaction doesn't end, is closed.
                let connection = Arc::into_inner(link).and_then(|link| link.into_inner().ok());
                let connection = connection.and_then(|mut connection| {
                    connection.progress_handler(0, None::<fn() -> bool>).ok()?;
                    connection.execute_batch("ROLLBACK").ok()?;
                    Some(connection)
                });
                result?;
                Ok::<_, TxFailed>(connection)
            });
            let read = read.await.map_err(|_| StoreError::Unexpected("a read panicked".into()))?;
            if let Some(connection) = read? {
                self.put_back(connection);
            }
            Ok(())
        })
    }

    /// Runs a write. A long one begins a transaction: nobody who has written waits for it.
    pub(crate) fn write<'a>(
        &'a self,
        length: Length,
        mut start: StartWork,
    ) -> BoxFuture<'a, Result<(), TxFailed>> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let waiting = (
                (length == Length::Long).then(|| Held::new(&self.meter.batches_waiting)),
                Held::new(&self.meter.writer_waiting),
            );
            let job: Job = Box::new(move |room| {
                drop(waiting);
                let mut run = |link: &Link| {
                    let run = || {
                        let work = start(super::Link::Sqlite(Arc::clone(link)));
                        work.now_or_never().expect("nothing on SQLite ever waits")
                    };
                    match catch_unwind(AssertUnwindSafe(run)) {
                        Ok(result) => Ok(result?),
                        Err(_) => Err(StoreError::Unexpected("a write panicked".into()).into()),
                    }
                };
                let result = match room {
                    Ok(Room::Fresh(link)) => in_transaction(link, || run(link)),
                    Ok(Room::Shared(link)) => in_savepoint(link, || run(link)),
                    Err(why) => Err(why.repeated().into()),
                };
                Box::new(move |committed| {
                    // The caller may have gone away; the write stands all the same.
                    let _ = answer.send(match committed {
                        Ok(()) => result,
                        Err(cause) => Err(cause.repeated().into()),
                    });
                })
            });
            let queue = guard(&self.queue).clone();
            let queue = queue.ok_or_else(StoreError::gone)?;
            queue.send(Order::Write(length, job)).await.map_err(|_| StoreError::gone())?;
            answered.await.map_err(|_| StoreError::gone())?
        })
    }

    /// Moves the log into the database and cuts it off; false when readers stood in the way.
    pub(crate) async fn truncate_log(&self) -> Result<bool, StoreError> {
        let (answer, answered) = oneshot::channel();
        let queue = guard(&self.queue).clone().ok_or_else(StoreError::gone)?;
        queue.send(Order::TruncateLog(answer)).await.map_err(|_| StoreError::gone())?;
        answered.await.map_err(|_| StoreError::gone())?
    }

    /// Lets the writer finish what waits and moves the log back into the database file.
    pub(crate) async fn close(&self) {
        guard(&self.queue).take();
        let writer = guard(&self.writer).take();
        if let Some(writer) = writer {
            let _ = tokio::task::spawn_blocking(move || writer.join()).await;
        }
        guard(&self.readers).clear();
    }
}

/// Statements are planned once. Without this SQLite would look at the values of every range and plan
/// each statement anew for them, which costs more than most statements do.
fn keep_plans(connection: &Connection) -> Result<(), StoreError> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

fn write_until_closed(link: Link, log: Log, mut queue: mpsc::Receiver<Order>, meter: &StoreMeter) {
    let mut put_off = None;
    while let Some(order) = put_off.take().or_else(|| queue.blocking_recv()) {
        let first = match order {
            Order::Write(_, job) => job,
            Order::TruncateLog(answer) => {
                let _ = answer.send(log.turn.alone(|| truncate_log(&lock(&link))));
                continue;
            }
            // Somebody wants something after all.
            Order::Rest if !queue.is_empty() => continue,
            Order::Rest => {
                if let Err(cause) = lock(&link).execute_batch("PRAGMA shrink_memory") {
                    tracing::warn!(%cause, "the writer keeps its memory");
                }
                continue;
            }
        };
        let begun = begin(&link);
        let place = begun.as_ref().map(|()| &link);
        let mut answers = vec![first(place.map(Room::Fresh))];
        while answers.len() < GATHER_MAX
            && (is_open(&link) || place.is_err())
            && let Ok(next) = queue.try_recv()
        {
            match next {
                Order::Write(Length::Short, job) => answers.push(job(place.map(Room::Shared))),
                Order::Rest => {}
                other => {
                    put_off = Some(other);
                    break;
                }
            }
        }
        meter.writer_gathered.observe(answers.len() as f64);
        let committed = if place.is_ok() { commit(&link) } else { Ok(()) };
        for answer in answers {
            answer(committed.as_ref().copied());
        }
    }
    checkpoint::stop(&mut lock(&link), log.mover);
    if let Err(cause) = lock(&link).execute_batch("PRAGMA wal_checkpoint(TRUNCATE)") {
        tracing::warn!(%cause, "the write-ahead log could not be moved into the database");
    }
}

/// Without waiting for readers: everyone who writes would wait with it.
fn truncate_log(connection: &Connection) -> Result<bool, StoreError> {
    connection.busy_timeout(Duration::ZERO)?;
    let is_busy =
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(is_busy? == 0)
}

fn begin(link: &Link) -> Result<(), StoreError> {
    Ok(lock(link).execute_batch("BEGIN IMMEDIATE")?)
}

/// Whether the transaction is still there: a full disk or an I/O error ends it without our doing.
fn is_open(link: &Link) -> bool {
    !lock(link).is_autocommit()
}

fn commit(link: &Link) -> Result<(), StoreError> {
    if !is_open(link) {
        // Whatever was in it is gone, also what seemed to go well.
        return Err(StoreError::Unavailable("the disk is full or fails".into()));
    }
    let connection = lock(link);
    Ok(connection.execute_batch("COMMIT").inspect_err(|_| {
        // It may have ended by itself just now; either way none is left open.
        let _ = connection.execute_batch("ROLLBACK");
    })?)
}

fn in_transaction(
    link: &Link,
    work: impl FnOnce() -> Result<(), TxFailed>,
) -> Result<(), TxFailed> {
    let result = work();
    if result.is_err() {
        // It may have ended by itself already. Should there be no new one, the commit will say so.
        let _ = lock(link).execute_batch("ROLLBACK");
        let _ = begin(link);
    }
    result
}

fn in_savepoint(link: &Link, work: impl FnOnce() -> Result<(), TxFailed>) -> Result<(), TxFailed> {
    lock(link)
        .prepare_cached("SAVEPOINT request")
        .and_then(|mut it| it.execute([]))
        .map_err(StoreError::from)?;
    let result = work();
    let end = if result.is_ok() {
        "RELEASE request"
    } else {
        // Both: rolling back alone would leave the savepoint open.
        "ROLLBACK TO request; RELEASE request"
    };
    let ended = lock(link).execute_batch(end);
    if ended.is_err() {
        // Half of this request might be left inside: nothing of the transaction may be kept.
        let _ = lock(link).execute_batch("ROLLBACK");
    }
    match (result, ended) {
        (Ok(()), Err(cause)) => Err(StoreError::from(cause).into()),
        (result, _) => result,
    }
}

pub(super) fn rows(
    connection: &Connection,
    sql: &'static str,
    values: &[Value<'_>],
    each: &mut ReadRow<'_>,
) -> Result<(), StoreError> {
    read_all(&mut *connection.prepare_cached(sql)?, values, each)
}

pub(super) fn rows_once(
    connection: &Connection,
    sql: &str,
    values: &[Value<'_>],
    each: &mut ReadRow<'_>,
) -> Result<(), StoreError> {
    read_all(&mut connection.prepare(sql)?, values, each)
}

fn read_all(
    statement: &mut rusqlite::Statement<'_>,
    values: &[Value<'_>],
    each: &mut ReadRow<'_>,
) -> Result<(), StoreError> {
    let mut found = statement.query(rusqlite::params_from_iter(values))?;
    while let Some(row) = found.next()? {
        each(&Row::Sqlite(row))?;
    }
    Ok(())
}

pub(super) fn execute(
    connection: &Connection,
    sql: &'static str,
    values: &[Value<'_>],
) -> Result<u64, StoreError> {
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.execute(rusqlite::params_from_iter(values))? as u64)
}

pub(super) fn execute_each<const N: usize>(
    connection: &Connection,
    sql: &'static str,
    rows: &[[Value<'_>; N]],
) -> Result<(), StoreError> {
    let mut statement = connection.prepare_cached(sql)?;
    for row in rows {
        statement.execute(rusqlite::params_from_iter(row))?;
    }
    Ok(())
}

pub(super) fn script(connection: &Connection, sql: &str) -> Result<(), StoreError> {
    Ok(connection.execute_batch(sql)?)
}

pub(super) fn lock(link: &Link) -> MutexGuard<'_, Connection> {
    guard(link)
}

impl From<rusqlite::Error> for StoreError {
    fn from(cause: rusqlite::Error) -> Self {
        let text = cause.to_string().into();
        match cause.sqlite_error_code() {
            Some(
                ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::OutOfMemory
                | ErrorCode::ReadOnly
                | ErrorCode::SystemIoFailure
                | ErrorCode::DiskFull
                | ErrorCode::CannotOpen,
            ) => StoreError::Unavailable(text),
            Some(ErrorCode::OperationInterrupted) => StoreError::TooSlow,
            Some(ErrorCode::ConstraintViolation) if is_about_a_key(&cause) => {
                StoreError::Taken(text)
            }
            _ => StoreError::Unexpected(text),
        }
    }
}

fn is_about_a_key(cause: &rusqlite::Error) -> bool {
    let code = cause.sqlite_error().map(|error| error.extended_code);
    matches!(code, Some(SQLITE_CONSTRAINT_UNIQUE | SQLITE_CONSTRAINT_PRIMARYKEY))
}
