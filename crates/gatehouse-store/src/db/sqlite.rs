//! SQLite, on a disk that may fail.
//!
//! `writer` is the one thread that writes; a read runs on the thread that asks for it. `session` is one connection and
//! says what its errors tell about the disk; `health` keeps the disk's condition. `log` moves the write-ahead log into
//! the database: `mover` runs it beside the writer, `log_length` says when, and `rest` notices when the writer is idle.
//! `growth` reads new parts of a file back from the device, `log_growth` those of the log. `mark` tells the next start
//! how this one ended, `recovery` looks at what it finds then, and `files` knows the files from outside.

mod files;
mod growth;
mod health;
mod log;
mod log_growth;
mod log_length;
mod log_pages;
mod mark;
mod mover;
mod recovery;
mod rest;
mod session;
mod writer;

pub(crate) use health::{Debt, Health};
pub use recovery::LastEnd;
pub(crate) use recovery::look;
pub(crate) use session::Session;
pub(crate) use writer::Duty;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle, ThreadId};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::{mpsc, oneshot};

use super::lane::Lane;
use super::work::{StartWork, TxFailed};
use super::{Length, SnapshotFor};
use crate::error::{DiskTrouble, StoreError};
use crate::meter::{Held, StoreMeter};
use log::{Log, Others};
use log_growth::LogGrowth;
use log_length::LogLength;
pub(crate) use log_length::Pace;
use mark::Mark;
use mover::Mover;
use session::Role;
use writer::{Job, Link, Order, Transaction, Writer, in_savepoint, in_transaction};

/// Writes that may wait for the writer; those after them wait to be let in.
const QUEUE_MAX: usize = 4096;

/// How long a transaction waits for another process that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Page cache of each reading connection. Every write empties it.
const CACHE_KIBIBYTES: i64 = 4 * 1024;

/// Page cache of the writer. New usernames are random: each one changes another page of
/// their index, and those of a large batch together change most of them. Were they read, written and read
/// again for want of room, a batch would take longer.
const WRITER_CACHE_KIBIBYTES: i64 = 64 * 1024;

/// Steps of SQLite's between two looks at the clock, where a read has a limit: well under a millisecond.
const STEPS_BETWEEN_LOOKS: i32 = 10_000;

/// Half of the cores may look at many rows for tenants, and one thread for the server itself; the other cores go on
/// answering.
fn snapshots_at_once() -> usize {
    thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(2)) + 1
}

/// Where a database is, and how its log is moved.
#[derive(Clone, Debug)]
pub(crate) struct Location {
    pub(crate) path: PathBuf,
    /// SQLite's VFS; `None` for its own. Tests have a disk that fails.
    pub(crate) vfs: Option<&'static str>,
    pub(crate) pace: Pace,
}

impl From<&Path> for Location {
    fn from(path: &Path) -> Self {
        Self { path: path.to_owned(), vfs: None, pace: Pace::USUAL }
    }
}

impl Location {
    /// Opens a connection that moves no log when it closes: errors of that would be lost.
    fn connect(&self, flags: OpenFlags) -> rusqlite::Result<Connection> {
        let connection = match self.vfs {
            Some(vfs) => Connection::open_with_flags_and_vfs(&self.path, flags, vfs),
            None => Connection::open_with_flags(&self.path, flags),
        }?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        Ok(connection)
    }
}

/// Processes that open an embedded store to write to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opener {
    /// A server, which has it for itself. Where nothing says that there was a store, one is made.
    Server,
    /// A server whose keys are there already: so must the store be.
    Returning,
    /// A server that may begin with an empty store whatever says that there was one.
    Anew,
    /// A command, beside a server or not.
    Command,
}

pub(crate) struct Sqlite {
    place: Location,
    /// Idle read connections, and who had them last. There are at most as many as threads that read at the same time.
    readers: Mutex<Vec<(ThreadId, Session)>>,
    snapshots: Lane,
    queue: Mutex<Option<mpsc::Sender<Order>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    meter: Arc<StoreMeter>,
    health: Arc<Health>,
    probe_turn: tokio::sync::Mutex<()>,
}

impl Sqlite {
    /// Opens a database that has been [looked at](look).
    pub(crate) fn open(
        place: Location,
        duty: Duty,
        meter: Arc<StoreMeter>,
    ) -> Result<Self, StoreError> {
        let health = Arc::new(Health::new());
        let mut connection = place.connect(OpenFlags::default())?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;",
        )?;
        connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIBIBYTES)?;
        let page_bytes: i64 = connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
        let log_length = Arc::new(LogLength::new(place.pace));
        let told = Arc::clone(&log_length);
        // SQLite itself moves nothing any more.
        connection.wal_hook(Some(move |_: &mut Wal, n_pages| {
            told.on_commit(n_pages);
            Ok(())
        }))?;
        let session = Session::new(connection, Role::Writer, Arc::clone(&health))?;
        let (sender, receiver) = mpsc::channel(QUEUE_MAX);
        // It must not keep the queue open.
        let queue = sender.downgrade();
        let wake = move || {
            // A writer whose queue is full is awake.
            let _ = queue.upgrade().map(|queue| queue.try_send(Order::Rest));
        };
        let others = match duty {
            Duty::Keeper => Others::Before,
            Duty::Guest => Others::Beside,
        };
        let log = Log::open(&place, others, &log_length, &health)?;
        let mover = match (duty, place.vfs) {
            (Duty::Keeper, None) => Mover::start(log, Arc::clone(&log_length), wake.clone())?,
            // A command only cuts the log off, and a test counts the calls of its disk.
            (Duty::Guest, _) | (_, Some(_)) => Mover::inline(log, Arc::clone(&log_length)),
        };
        let rest = rest::watch(wake)?;
        let log_growth = (duty == Duty::Keeper && place.vfs.is_none())
            .then(|| LogGrowth::of(&place.path, page_bytes.unsigned_abs()));
        let writer = Writer {
            link: Arc::new(Mutex::new(session)),
            health: Arc::clone(&health),
            duty,
            log_length,
            mover,
            log_growth,
            database: place.path.clone(),
            meter: Arc::clone(&meter),
            rest,
        };
        let writer = thread::Builder::new()
            .name("sqlite-writer".into())
            .spawn(move || writer.run(receiver))
            .map_err(|cause| StoreError::Unavailable(cause.into()))?;
        let opened = Self { health, ..Self::attach(place, meter)? };
        *opened.queue.lock() = Some(sender);
        *opened.writer.lock() = Some(writer);
        Ok(opened)
    }

    /// One that can only be read: another process may be writing it.
    pub(crate) fn attach(place: Location, meter: Arc<StoreMeter>) -> Result<Self, StoreError> {
        recovery::refuse_lone_log(&place.path)?;
        Ok(Self {
            place,
            readers: Mutex::default(),
            snapshots: Lane::new(snapshots_at_once()),
            queue: Mutex::default(),
            writer: Mutex::default(),
            meter,
            health: Arc::new(Health::new()),
            probe_turn: tokio::sync::Mutex::default(),
        })
    }

    pub(crate) fn health(&self) -> &Health {
        &self.health
    }

    /// Has the next start know that what was begun here is complete, and was found to be whole.
    pub(crate) fn settle(&self) -> Result<(), StoreError> {
        let written = Mark::Open.write(&self.place.path);
        written.map_err(|cause| StoreError::Unavailable(cause.into()))
    }

    /// The file of the database.
    pub(crate) fn file(&self) -> &Path {
        &self.place.path
    }

    /// Reads on the calling thread: a seek costs less than handing it to another.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&Session) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let session = self.take_reader()?;
        let result = read(&session);
        self.put_back(session);
        result
    }

    /// An idle connection, at best the one that this thread had last: what it needs lies near the core by then.
    fn take_reader(&self) -> Result<Session, StoreError> {
        let own = thread::current().id();
        let idle = {
            let mut readers = self.readers.lock();
            let nth = readers.iter().rposition(|(last, _)| *last == own);
            nth.map(|nth| readers.swap_remove(nth)).or_else(|| readers.pop())
        };
        idle.map_or_else(|| self.open_reader(), |(_, session)| Ok(session))
    }

    fn put_back(&self, session: Session) {
        self.readers.lock().push((thread::current().id(), session));
    }

    /// Reads through the system's memory of the file, and not by mapping it into ours: there a page that the disk can't
    /// give would end the process.
    fn open_reader(&self) -> Result<Session, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = self.place.connect(flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_update(None, "cache_size", -CACHE_KIBIBYTES)?;
        Session::new(connection, Role::Reader, Arc::clone(&self.health))
    }

    /// Reads several things at one moment, on a thread where that may take long.
    pub(crate) fn snapshot<'a>(
        &'a self,
        caller: SnapshotFor<'a>,
        mut start: StartWork,
    ) -> BoxFuture<'a, Result<(), TxFailed>> {
        let limit = caller.limit();
        Box::pin(async move {
            let turn = self.snapshots.enter(caller.tenant(), limit).await?;
            let mut session = self.take_reader()?;
            let read = tokio::task::spawn_blocking(move || {
                let _turn = turn;
                let deadline = limit.map(|limit| Instant::now() + limit);
                let stop = deadline.map(|deadline| move || Instant::now() > deadline);
                session.look_up(STEPS_BETWEEN_LOOKS, stop)?;
                session.script("BEGIN")?;
                let link = Arc::new(Mutex::new(session));
                let work = start(super::Link::Sqlite(Arc::clone(&link)));
                let result = work.now_or_never().expect("nothing on SQLite waits");
                // A connection that the work has kept, or whose transaction doesn't end, is closed.
                let session = Arc::into_inner(link).map(Mutex::into_inner);
                let session = session.and_then(|mut session| {
                    session.look_up(0, None::<fn() -> bool>).ok()?;
                    session.script("ROLLBACK").ok()?;
                    Some(session)
                });
                result?;
                Ok::<_, TxFailed>(session)
            });
            let read = read.await.map_err(|_| StoreError::Unexpected("a read panicked".into()))?;
            if let Some(session) = read? {
                self.put_back(session);
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
                    Ok(Transaction::Fresh(link)) => in_transaction(link, || run(link)),
                    Ok(Transaction::Shared(link)) => in_savepoint(link, || run(link)),
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
            let queue = self.queue.lock().clone();
            let queue = queue.ok_or_else(StoreError::gone)?;
            queue.send(Order::Write(length, job)).await.map_err(|_| StoreError::gone())?;
            answered.await.map_err(|_| StoreError::gone())?
        })
    }

    /// Moves the log into the database as far as nobody reads it, also where that did not go well before.
    pub(crate) async fn move_log(&self) -> Result<(), StoreError> {
        let (answer, answered) = oneshot::channel();
        let queue = self.queue.lock().clone().ok_or_else(StoreError::gone)?;
        queue.send(Order::MoveLog(answer)).await.map_err(|_| StoreError::gone())?;
        answered.await.map_err(|_| StoreError::gone())?
    }

    /// Moves the log into the database and cuts it off; false when readers stood in the way.
    pub(crate) async fn truncate_log(&self) -> Result<bool, StoreError> {
        let (answer, answered) = oneshot::channel();
        let queue = self.queue.lock().clone().ok_or_else(StoreError::gone)?;
        queue.send(Order::TruncateLog(answer)).await.map_err(|_| StoreError::gone())?;
        answered.await.map_err(|_| StoreError::gone())?
    }

    /// Lets the writer finish what waits and moves the log back into the database file.
    pub(crate) async fn close(&self) {
        self.queue.lock().take();
        let writer = self.writer.lock().take();
        if let Some(writer) = writer {
            let _ = tokio::task::spawn_blocking(move || writer.join()).await;
        }
        self.readers.lock().clear();
    }

    /// Whether the disk is well and takes writes, if the last seconds tell; `None` where a write has to tell.
    pub(crate) fn is_well(&self) -> Option<Result<(), DiskTrouble>> {
        match self.health.trouble() {
            None if self.health.wrote_lately() => Some(Ok(())),
            // It heals when somebody writes.
            None | Some(DiskTrouble::Full) => None,
            Some(trouble) => Some(Err(trouble)),
        }
    }

    /// One at a time tries whether the disk takes a write.
    pub(crate) async fn probe_turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.probe_turn.lock().await
    }
}
