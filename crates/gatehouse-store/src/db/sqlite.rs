//! SQLite, on a disk that may fail.
//!
//! `writer` is the one thread that writes; a read runs on its caller's thread. `session` is one connection, and derives
//! the disk's `health` from its errors. `log` checkpoints the write-ahead log: `checkpointer` does so on a thread of
//! its own, `log_length` decides when, and `idle` notices when the writer has nothing to do. `growth` reads new parts
//! of a file back from the device, `log_growth` those of the log. `shutdown_mark` tells the next start how this process
//! ended, `inspection` checks the database's files before they are opened, and `files` handles them without SQLite.

mod checkpointer;
mod files;
mod growth;
mod health;
mod idle;
mod inspection;
mod log;
mod log_growth;
mod log_length;
mod log_pages;
mod session;
mod shutdown_mark;
mod writer;

pub(crate) use health::{Health, PendingCheck};
pub use inspection::LastShutdown;
pub(crate) use inspection::inspect;
pub(crate) use session::Session;
pub(crate) use writer::ProcessRole;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle, ThreadId};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use gatehouse_meter::GaugeGuard;
use parking_lot::Mutex;
use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::{mpsc, oneshot};

use super::snapshot_pool::SnapshotPool;
use super::work::{StartWork, TxFailed};
use super::{SnapshotFor, WriteKind};
use crate::error::{DiskTrouble, StoreError};
use crate::meter::StoreMeter;
use checkpointer::Checkpointer;
use log::{Log, OtherCheckpoints};
use log_growth::LogGrowth;
pub(crate) use log_length::CheckpointLengths;
use log_length::LogLength;
use session::Role;
use shutdown_mark::ShutdownMark;
use writer::{Job, Request, SharedSession, Transaction, Writer, in_savepoint, in_transaction};

/// Requests that may wait for the writer. Callers beyond that wait until the queue has room.
const QUEUE_MAX: usize = 4096;

/// Time that a transaction waits for another writing process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Page cache of each reading connection. Every write invalidates it.
const CACHE_KIBIBYTES: i64 = 4 * 1024;

/// Page cache of the writer. New usernames are random: each changes another page of their index, and a large batch
/// changes most pages of it. With a smaller cache, these pages would be read and written repeatedly.
const WRITER_CACHE_KIBIBYTES: i64 = 64 * 1024;

/// Steps of SQLite's virtual machine between two checks of a deadline: well under a millisecond.
const STEPS_BETWEEN_CHECKS: i32 = 10_000;

/// Snapshots of tenants at a time, and also scans: as many as half of the cores. Mostly one of the two lanes is empty, and
/// the other cores keep answering short requests.
fn snapshots_at_once() -> usize {
    thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(2))
}

/// Path of a database, its VFS, and its checkpoint thresholds.
#[derive(Clone, Debug)]
pub(crate) struct Location {
    pub(crate) path: PathBuf,
    /// SQLite's VFS; `None` for the default. Tests use one that simulates a failing disk.
    pub(crate) vfs: Option<&'static str>,
    pub(crate) lengths: CheckpointLengths,
}

impl From<&Path> for Location {
    fn from(path: &Path) -> Self {
        Self { path: path.to_owned(), vfs: None, lengths: CheckpointLengths::USUAL }
    }
}

impl Location {
    /// Opens a connection that doesn't checkpoint when it closes, because errors would be lost.
    fn connect(&self, flags: OpenFlags) -> rusqlite::Result<Connection> {
        let connection = match self.vfs {
            Some(vfs) => Connection::open_with_flags_and_vfs(&self.path, flags, vfs),
            None => Connection::open_with_flags(&self.path, flags),
        }?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        Ok(connection)
    }
}

/// How a process opens an embedded store for writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// A server. The store is created unless a shutdown mark says that one existed.
    CreateIfNew,
    /// A server whose keys exist already: so must the store.
    MustExist,
    /// A server that may create an empty store even if a shutdown mark says that one existed.
    StartEmpty,
    /// A command, which may run while a server uses the store.
    Command,
}

pub(crate) struct Sqlite {
    location: Location,
    /// Idle read connections, each with the thread that used it last. At most as many as threads that read at the same
    /// time.
    readers: Mutex<Vec<(ThreadId, Session)>>,
    snapshots: SnapshotPool,
    queue: Mutex<Option<mpsc::Sender<Request>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    meter: Arc<StoreMeter>,
    health: Arc<Health>,
    probe_lock: tokio::sync::Mutex<()>,
}

impl Sqlite {
    /// Opens a database after its [inspection](inspect).
    pub(crate) fn open(
        location: Location,
        role: ProcessRole,
        meter: Arc<StoreMeter>,
    ) -> Result<Self, StoreError> {
        let health = Arc::new(Health::new());
        let mut connection = location.connect(OpenFlags::default())?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;",
        )?;
        connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIBIBYTES)?;
        let page_bytes: i64 = connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
        let log_length = Arc::new(LogLength::new(location.lengths));
        let told = Arc::clone(&log_length);
        // The hook replaces SQLite's automatic checkpoints.
        connection.wal_hook(Some(move |_: &mut Wal, n_pages| {
            told.on_commit(n_pages);
            Ok(())
        }))?;
        let session = Session::new(connection, Role::Writer, Arc::clone(&health))?;
        let (sender, receiver) = mpsc::channel(QUEUE_MAX);
        // Weak, so that the timer doesn't keep the queue open.
        let queue = sender.downgrade();
        let wake = move || {
            // A writer whose queue is full isn't idle.
            let _ = queue.upgrade().map(|queue| queue.try_send(Request::Idle));
        };
        let other_checkpoints = match role {
            ProcessRole::Server => OtherCheckpoints::Earlier,
            ProcessRole::Command => OtherCheckpoints::Concurrent,
        };
        let log = Log::open(&location, other_checkpoints, &log_length, &health)?;
        let checkpointer = match (role, location.vfs) {
            (ProcessRole::Server, None) => {
                Checkpointer::start(log, Arc::clone(&log_length), wake.clone())?
            }
            // A command only truncates the log, and a test counts the disk's calls.
            (ProcessRole::Command, _) | (_, Some(_)) => {
                Checkpointer::inline(log, Arc::clone(&log_length))
            }
        };
        let idle_timer = idle::start_timer(wake)?;
        let log_growth = (role == ProcessRole::Server && location.vfs.is_none())
            .then(|| LogGrowth::of(&location.path, page_bytes.unsigned_abs()));
        let writer = Writer {
            session: Arc::new(Mutex::new(session)),
            health: Arc::clone(&health),
            role,
            log_length,
            checkpointer,
            log_growth,
            database: location.path.clone(),
            meter: Arc::clone(&meter),
            idle_timer,
        };
        let writer = thread::Builder::new()
            .name("sqlite-writer".into())
            .spawn(move || writer.run(receiver))
            .map_err(|cause| StoreError::Unavailable(cause.into()))?;
        let opened = Self { health, ..Self::attach(location, meter)? };
        *opened.queue.lock() = Some(sender);
        *opened.writer.lock() = Some(writer);
        Ok(opened)
    }

    /// Opens a database read-only: another process may be writing it.
    pub(crate) fn attach(location: Location, meter: Arc<StoreMeter>) -> Result<Self, StoreError> {
        inspection::refuse_lone_log(&location.path)?;
        Ok(Self {
            location,
            readers: Mutex::default(),
            snapshots: SnapshotPool::new(snapshots_at_once(), snapshots_at_once()),
            queue: Mutex::default(),
            writer: Mutex::default(),
            meter,
            health: Arc::new(Health::new()),
            probe_lock: tokio::sync::Mutex::default(),
        })
    }

    pub(crate) fn health(&self) -> &Health {
        &self.health
    }

    /// Writes the mark of a store that is complete, and checked if it had to be.
    pub(crate) fn mark_in_use(&self) -> Result<(), StoreError> {
        let written = ShutdownMark::InUse.write(&self.location.path);
        written.map_err(|cause| StoreError::Unavailable(cause.into()))
    }

    /// Path of the database.
    pub(crate) fn file(&self) -> &Path {
        &self.location.path
    }

    /// Reads on the calling thread: a seek costs less than handing it to another thread.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&Session) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let session = self.take_reader()?;
        let result = read(&session);
        self.put_back(session);
        result
    }

    /// An idle connection, preferably the one that this thread used last: its pages are in the core's caches.
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

    /// Opens a connection for reads, without memory mapping: a mapped page that the disk can't read would kill the
    /// process.
    fn open_reader(&self) -> Result<Session, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = self.location.connect(flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_update(None, "cache_size", -CACHE_KIBIBYTES)?;
        Session::new(connection, Role::Reader, Arc::clone(&self.health))
    }

    /// Runs several reads in one snapshot, on a blocking thread.
    pub(crate) fn snapshot<'a>(
        &'a self,
        caller: SnapshotFor<'a>,
        mut start: StartWork,
    ) -> BoxFuture<'a, Result<(), TxFailed>> {
        let limit = caller.limit();
        Box::pin(async move {
            let permit = self.snapshots.enter(caller, limit).await?;
            let mut session = self.take_reader()?;
            let read = tokio::task::spawn_blocking(move || {
                let _permit = permit;
                let deadline = limit.map(|limit| Instant::now() + limit);
                let stop = deadline.map(|deadline| move || Instant::now() > deadline);
                session.set_interrupt(STEPS_BETWEEN_CHECKS, stop)?;
                session.script("BEGIN")?;
                let session = Arc::new(Mutex::new(session));
                let work = start(super::TxSession::Sqlite(Arc::clone(&session)));
                let result = work.now_or_never().expect("nothing on SQLite waits");
                // A connection is closed if the work still holds it, or if its transaction doesn't end.
                let session = Arc::into_inner(session).map(Mutex::into_inner);
                let session = session.and_then(|mut session| {
                    session.set_interrupt(0, None::<fn() -> bool>).ok()?;
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

    /// Runs a write. A long one starts a transaction, so that no earlier write waits for its commit.
    pub(crate) fn write<'a>(
        &'a self,
        kind: &WriteKind,
        mut start: StartWork,
    ) -> BoxFuture<'a, Result<(), TxFailed>> {
        let is_long = kind.is_long();
        let of_kind = match kind {
            WriteKind::Journal(_) => Some(&self.meter.journal_writes_waiting),
            _ => is_long.then_some(&self.meter.batches_waiting),
        };
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let waiting =
                (of_kind.map(GaugeGuard::new), GaugeGuard::new(&self.meter.writer_waiting));
            let job: Job = Box::new(move |transaction| {
                drop(waiting);
                let mut run = |session: &SharedSession| {
                    let run = || {
                        let work = start(super::TxSession::Sqlite(Arc::clone(session)));
                        work.now_or_never().expect("nothing on SQLite ever waits")
                    };
                    match catch_unwind(AssertUnwindSafe(run)) {
                        Ok(result) => Ok(result?),
                        Err(_) => Err(StoreError::Unexpected("a write panicked".into()).into()),
                    }
                };
                let result = match transaction {
                    Ok(Transaction::Fresh(session)) => in_transaction(session, || run(session)),
                    Ok(Transaction::Shared(session)) => in_savepoint(session, || run(session)),
                    Err(why) => Err(why.repeated().into()),
                };
                Box::new(move |committed| {
                    // The caller may be gone; the write stands all the same.
                    let _ = answer.send(match committed {
                        Ok(()) => result,
                        Err(cause) => Err(cause.repeated().into()),
                    });
                })
            });
            let queue = self.queue.lock().clone();
            let queue = queue.ok_or_else(StoreError::closed)?;
            queue.send(Request::Write { is_long, job }).await.map_err(|_| StoreError::closed())?;
            answered.await.map_err(|_| StoreError::closed())?
        })
    }

    /// Checkpoints the log as far as readers allow, also after a checkpoint that failed.
    pub(crate) async fn checkpoint(&self) -> Result<(), StoreError> {
        let (answer, answered) = oneshot::channel();
        let queue = self.queue.lock().clone().ok_or_else(StoreError::closed)?;
        queue.send(Request::Checkpoint(answer)).await.map_err(|_| StoreError::closed())?;
        answered.await.map_err(|_| StoreError::closed())?
    }

    /// Checkpoints the log and truncates it; false where a reader prevented that.
    pub(crate) async fn truncate_log(&self) -> Result<bool, StoreError> {
        let (answer, answered) = oneshot::channel();
        let queue = self.queue.lock().clone().ok_or_else(StoreError::closed)?;
        queue.send(Request::TruncateLog(answer)).await.map_err(|_| StoreError::closed())?;
        answered.await.map_err(|_| StoreError::closed())?
    }

    /// Lets the writer finish the queued requests and checkpoint the log.
    pub(crate) async fn close(&self) {
        self.queue.lock().take();
        let writer = self.writer.lock().take();
        if let Some(writer) = writer {
            let _ = tokio::task::spawn_blocking(move || writer.join()).await;
        }
        self.readers.lock().clear();
    }

    /// Result of a health check where recent writes or errors decide it; `None` where only a write can.
    pub(crate) fn known_health(&self) -> Option<Result<(), DiskTrouble>> {
        match self.health.trouble() {
            None if self.health.wrote_lately() => Some(Ok(())),
            // A write may succeed by now, and clears the state.
            None | Some(DiskTrouble::Full) => None,
            Some(trouble) => Some(Err(trouble)),
        }
    }

    /// Lets one health check at a time try a write.
    pub(crate) async fn probe_lock(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.probe_lock.lock().await
    }
}
