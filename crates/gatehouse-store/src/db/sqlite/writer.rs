//! SQLite's writer: one thread that commits waiting writes in groups.
//!
//! A commit costs one flush however many writes it holds. So the writer takes all waiting writes, runs them in one
//! transaction, with a savepoint for each but the first so that one can fail alone, flushes once, and only then sends
//! the responses. Creations of one tenant already arrive as one write (`creation_groups.rs`).
//!
//! When the disk fails, every caller gets an error, and nothing more is touched: no checkpoint is made, and the
//! database isn't closed. The next start finds the disk as it was at that moment.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use super::checkpointer::Checkpointer;
use super::health::{Health, PendingCheck};
use super::log::LOST;
use super::log_growth::LogGrowth;
use super::log_length::LogLength;
use super::session::{Fault, Session, fault};
use super::shutdown_mark::ShutdownMark;
use crate::db::work::TxFailed;
use crate::error::StoreError;
use crate::meter::StoreMeter;

/// Most writes in one transaction: with more, the first would wait too long for its response. A group of one tenant's
/// creations counts as one.
const WRITES_MAX: usize = 512;

/// The writer's session. The running write locks it for each statement, the writer for BEGIN and COMMIT.
pub(super) type SharedSession = Arc<Mutex<Session>>;

/// Runs a write, or gets the error that left it without a transaction.
pub(super) type Job = Box<dyn FnOnce(Result<Transaction<'_>, &StoreError>) -> Respond + Send>;

/// Gets the result of the commit, and responds to the write's caller.
pub(super) type Respond = Box<dyn FnOnce(Result<(), &StoreError>) + Send>;

/// Transaction that a write runs in.
#[derive(Clone, Copy)]
pub(super) enum Transaction<'a> {
    /// A transaction without other writes. When the write fails, the transaction is begun again. A savepoint would make
    /// SQLite copy every page before it changes, which is expensive for a large write.
    Fresh(&'a SharedSession),
    /// A savepoint behind other writes.
    Shared(&'a SharedSession),
}

/// Requests to the writer.
pub(super) enum Request {
    /// Run a write together with others. A long one must be the first of its transaction.
    Write { is_long: bool, job: Job },
    /// Checkpoint the log.
    Checkpoint(oneshot::Sender<Result<(), StoreError>>),
    /// Checkpoint the log and truncate it; false where a reader prevents that.
    TruncateLog(oneshot::Sender<Result<bool, StoreError>>),
    /// Checkpoint the log and free the page cache: nothing has been written for a while.
    Idle,
}

/// Role of a process, which decides whether it makes checkpoints and writes the shutdown mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessRole {
    /// The only server on this database.
    Server,
    /// A command that may run beside the server, writes little, and leaves checkpoints to the server.
    Command,
}

pub(super) struct Writer {
    pub(super) session: SharedSession,
    pub(super) health: Arc<Health>,
    pub(super) role: ProcessRole,
    pub(super) log_length: Arc<LogLength>,
    pub(super) checkpointer: Checkpointer,
    /// New parts of a server's log; `None` for a command, and on a test's disk.
    pub(super) log_growth: Option<LogGrowth>,
    pub(super) database: PathBuf,
    pub(super) meter: Arc<StoreMeter>,
    /// Notifies the idle timer of writes.
    pub(super) idle_timer: SyncSender<()>,
}

impl Writer {
    /// Runs until the queue is closed or the disk fails.
    pub(super) fn run(mut self, mut queue: mpsc::Receiver<Request>) {
        let mut postponed = None;
        while let Some(request) = postponed.take().or_else(|| queue.blocking_recv()) {
            if let Some(why) = self.health.stopped() {
                return self.abandon(&why, Some(request), queue);
            }
            match request {
                Request::Write { job, .. } => postponed = self.write(job, &mut queue),
                Request::Checkpoint(answer) => {
                    let _ = answer.send(self.checkpointer.checkpoint_when_idle());
                }
                Request::TruncateLog(answer) => {
                    let _ = answer.send(self.truncate_log());
                }
                // A request has arrived meanwhile.
                Request::Idle if !queue.is_empty() => {}
                Request::Idle => self.on_idle(),
            }
            if let Some(why) = self.health.stopped() {
                return self.abandon(&why, postponed, queue);
            }
        }
        self.finish();
    }

    /// Runs this write and those that wait, commits, and responds. Returns a request that was taken out of the queue
    /// and must run afterwards.
    fn write(&mut self, first: Job, queue: &mut mpsc::Receiver<Request>) -> Option<Request> {
        let (session, mut postponed) = (Arc::clone(&self.session), None);
        let n_commits = self.log_length.n_commits();
        let begun = begin(&session);
        let begun = begun.as_ref().map(|()| &session);
        let mut responses = vec![first(begun.map(Transaction::Fresh))];
        while responses.len() < WRITES_MAX
            && (is_open(&session) || begun.is_err())
            && self.health.stopped().is_none()
            && let Ok(next) = queue.try_recv()
        {
            match next {
                Request::Write { is_long: false, job } => {
                    responses.push(job(begun.map(Transaction::Shared)));
                }
                Request::Idle => {}
                other => {
                    postponed = Some(other);
                    break;
                }
            }
        }
        self.meter.writer_gathered.observe(responses.len() as f64);
        let committed = if begun.is_ok() { self.commit() } else { Ok(()) };
        for respond in responses {
            respond(committed.as_ref().copied());
        }
        if self.log_length.n_commits() != n_commits {
            self.health.wrote();
            // Full: a notification is pending already.
            let _ = self.idle_timer.try_send(());
        }
        if self.role == ProcessRole::Server && committed.is_ok() {
            // The disk's health has recorded the error.
            let _ = self.checkpointer.after_commit();
        }
        postponed
    }

    /// Commits the transaction, and reads back where the device could have lost it.
    fn commit(&mut self) -> Result<(), StoreError> {
        commit(&self.session)?;
        let Some(log) = &mut self.log_growth else { return Ok(()) };
        let why = match log.is_on_device(self.log_length.n_pages()) {
            Ok(true) => return Ok(()),
            Ok(false) => LOST.to_owned(),
            Err(cause) => format!("the log can't be read from the device: {cause}"),
        };
        self.health.stop(&why);
        Err(StoreError::OutcomeUnknown(why.into()))
    }

    /// Checkpoints the log and truncates it; false where a reader prevents that.
    fn truncate_log(&mut self) -> Result<bool, StoreError> {
        let is_cut_off = self.checkpointer.truncate()?;
        if is_cut_off && let Some(log) = &mut self.log_growth {
            log.on_truncate();
        }
        Ok(is_cut_off)
    }

    fn on_idle(&mut self) {
        let session = self.session.lock();
        if self.role == ProcessRole::Server {
            // The disk's health has recorded the error.
            let _ = self.checkpointer.checkpoint_when_idle();
            if session.health().trouble().is_some() {
                // Retry after the next idle time.
                let _ = self.idle_timer.try_send(());
            }
        }
        if let Err(cause) = session.script("PRAGMA shrink_memory") {
            tracing::warn!(%cause, "the writer's page cache could not be freed");
        }
    }

    /// Sends an error to every waiting caller, and leaves the database's files untouched.
    fn abandon(self, why: &str, postponed: Option<Request>, mut queue: mpsc::Receiver<Request>) {
        let error = StoreError::Disk(why.into());
        queue.close();
        for request in postponed.into_iter().chain(std::iter::from_fn(|| queue.blocking_recv())) {
            match request {
                Request::Write { job, .. } => job(Err(&error))(Ok(())),
                Request::Checkpoint(answer) => drop(answer.send(Err(error.repeated()))),
                Request::TruncateLog(answer) => drop(answer.send(Err(error.repeated()))),
                Request::Idle => {}
            }
        }
        // Closing the database would write to it, and releasing its locks would let other processes do so.
        std::mem::forget((self.session, self.checkpointer));
        // Last, because a failed disk may block for any time.
        if self.role == ProcessRole::Server
            && let Err(cause) = ShutdownMark::DiskFailed(why.to_owned()).write(&self.database)
        {
            tracing::error!(%cause, "the mark of the failed disk could not be written");
        }
    }

    /// Checkpoints and truncates the log, and writes or removes the shutdown mark.
    fn finish(mut self) {
        if self.role == ProcessRole::Command {
            return;
        }
        self.checkpointer.end();
        let truncated = self.truncate_log();
        if let Some(why) = self.health.stopped() {
            let (_, no_requests) = mpsc::channel(1);
            return self.abandon(&why, None, no_requests);
        }
        match truncated {
            // With readers in the way, the next start makes the checkpoint.
            Ok(_) => {}
            Err(cause) => {
                tracing::warn!(%cause, "the write-ahead log could not be checkpointed");
            }
        }
        let marked = match self.health.pending_check() {
            PendingCheck::None => ShutdownMark::remove(&self.database),
            // The next start makes the full check.
            PendingCheck::AfterStart => ShutdownMark::InUse.write(&self.database),
            PendingCheck::BeforeStart => {
                ShutdownMark::DiskFailed("a page could not be read, or is damaged".into())
                    .write(&self.database)
            }
        };
        if let Err(cause) = marked {
            tracing::warn!(%cause, "the shutdown mark could not be written");
        }
    }
}

fn begin(session: &SharedSession) -> Result<(), StoreError> {
    session.lock().script("BEGIN IMMEDIATE")
}

/// Whether the transaction is open: a full disk or an I/O error ends it.
fn is_open(session: &SharedSession) -> bool {
    !session.lock().connection().is_autocommit()
}

/// Commits the transaction. On a full disk SQLite rolls it back. After any other error the transaction may be in the
/// log or not; recovery at the next start decides.
fn commit(session: &SharedSession) -> Result<(), StoreError> {
    let session = session.lock();
    if let Some(why) = session.health().stopped() {
        return Err(StoreError::Disk(why.as_ref().into()));
    }
    if session.connection().is_autocommit() {
        // All of its writes are lost, the successful ones too.
        return Err(StoreError::Unavailable("the disk is full or fails".into()));
    }
    session.connection().execute_batch("COMMIT").map_err(|cause| {
        if fault(&cause) == Some(Fault::Full) {
            let error = session.record_error(cause);
            // SQLite may have rolled back already; either way no transaction is left open.
            let _ = session.connection().execute_batch("ROLLBACK");
            return error;
        }
        session.health().stop(&format!("a commit failed: {cause}"));
        StoreError::OutcomeUnknown(cause.to_string().into())
    })
}

/// Runs the first write of a transaction.
pub(super) fn in_transaction(
    session: &SharedSession,
    work: impl FnOnce() -> Result<(), TxFailed>,
) -> Result<(), TxFailed> {
    let result = work();
    if result.is_err() && session.lock().health().stopped().is_none() {
        // SQLite may have rolled back already. If no transaction can be begun, the commit reports that.
        let _ = session.lock().connection().execute_batch("ROLLBACK");
        let _ = begin(session);
    }
    result
}

/// Runs a write behind others in a savepoint.
pub(super) fn in_savepoint(
    session: &SharedSession,
    work: impl FnOnce() -> Result<(), TxFailed>,
) -> Result<(), TxFailed> {
    session.lock().execute("SAVEPOINT request", &[])?;
    let result = work();
    let end = if result.is_ok() {
        "RELEASE request"
    } else {
        // Rolling back alone would leave the savepoint open.
        "ROLLBACK TO request; RELEASE request"
    };
    let ended = session.lock().script(end);
    if ended.is_err() {
        // A part of this write may be left in the transaction, so all of it is rolled back.
        let _ = session.lock().connection().execute_batch("ROLLBACK");
    }
    match (result, ended) {
        (Ok(()), Err(cause)) => Err(cause.into()),
        (result, _) => result,
    }
}
