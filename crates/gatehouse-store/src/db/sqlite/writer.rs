//! SQLite's one writer: a thread that gathers.
//!
//! A commit costs one flush however many requests it carries. So the writer takes everything that
//! waits, runs it in one transaction with a savepoint for each write behind the first (one failure stays
//! its own), flushes once, and only then answers all of them. While it flushes, the next ones gather. Creations of one
//! tenant come as one write already (`gather.rs`).
//!
//! When the disk fails, everyone is answered who has written or waits, and nothing is touched any more: neither is the
//! log moved, nor the database closed. What the next start finds is what the disk had at that moment.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use super::health::{Debt, Health};
use super::log::LOST;
use super::log_growth::LogGrowth;
use super::log_length::LogLength;
use super::mark::Mark;
use super::mover::Mover;
use super::session::{Fault, Session, fault};
use crate::db::Length;
use crate::db::work::TxFailed;
use crate::error::StoreError;
use crate::meter::StoreMeter;

/// Writes in one transaction: more would make the first of them wait too long for its answer. The creations of a tenant
/// that wait together are one of them.
const GATHER_MAX: usize = 512;

pub(super) type Link = Arc<Mutex<Session>>;

/// Runs a write, or hears why there is no transaction to run it in. What it returns is called with the fate
/// of the commit.
pub(super) type Job = Box<dyn FnOnce(Result<Transaction<'_>, &StoreError>) -> Answer + Send>;
pub(super) type Answer = Box<dyn FnOnce(Result<(), &StoreError>) + Send>;

/// Transaction that a write runs in.
#[derive(Clone, Copy)]
pub(super) enum Transaction<'a> {
    /// A transaction without other writes. When the write fails, the transaction is begun anew. A savepoint
    /// would have SQLite copy every page before it changes, which costs a large write dearly.
    Fresh(&'a Link),
    /// A savepoint behind other writes.
    Shared(&'a Link),
}

/// Requests to the writer.
pub(super) enum Order {
    /// A write, together with others; a long one only before others.
    Write(Length, Job),
    /// To move the log into the database.
    MoveLog(oneshot::Sender<Result<(), StoreError>>),
    /// To move the log into the database and to cut it off: whether that went well.
    TruncateLog(oneshot::Sender<Result<bool, StoreError>>),
    /// To move the log, and to let go of the pages that were read and written: there was much to do, and now there
    /// isn't.
    Rest,
}

/// Whether a process moves the log and writes the mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Duty {
    /// The server, which has the database for itself.
    Keeper,
    /// A command beside it that writes a little, and leaves the log to the server.
    Guest,
}

pub(super) struct Writer {
    pub(super) link: Link,
    pub(super) health: Arc<Health>,
    pub(super) duty: Duty,
    pub(super) log_length: Arc<LogLength>,
    pub(super) mover: Mover,
    /// New parts of a server's log; `None` for a command, and on a test's disk.
    pub(super) log_growth: Option<LogGrowth>,
    pub(super) database: PathBuf,
    pub(super) meter: Arc<StoreMeter>,
    /// Notified of writes.
    pub(super) rest: SyncSender<()>,
}

impl Writer {
    /// Writes what is asked for until nobody can ask any more, or the disk fails.
    pub(super) fn run(mut self, mut queue: mpsc::Receiver<Order>) {
        let mut put_off = None;
        while let Some(order) = put_off.take().or_else(|| queue.blocking_recv()) {
            if let Some(why) = self.health.stopped() {
                return self.leave_as_it_is(&why, Some(order), queue);
            }
            match order {
                Order::Write(_, first) => put_off = self.write(first, &mut queue),
                Order::MoveLog(answer) => {
                    let _ = answer.send(self.mover.move_at_rest());
                }
                Order::TruncateLog(answer) => {
                    let _ = answer.send(self.truncate_log());
                }
                // Somebody wants something after all.
                Order::Rest if !queue.is_empty() => {}
                Order::Rest => self.rest(),
            }
            if let Some(why) = self.health.stopped() {
                return self.leave_as_it_is(&why, put_off, queue);
            }
        }
        self.finish();
    }

    /// Runs this write and others that wait, makes them durable and answers them. Returns what was taken out of the queue
    /// and has to wait.
    fn write(&mut self, first: Job, queue: &mut mpsc::Receiver<Order>) -> Option<Order> {
        let (link, mut put_off) = (Arc::clone(&self.link), None);
        let n_commits = self.log_length.n_commits();
        let begun = begin(&link);
        let place = begun.as_ref().map(|()| &link);
        let mut answers = vec![first(place.map(Transaction::Fresh))];
        while answers.len() < GATHER_MAX
            && (is_open(&link) || place.is_err())
            && self.health.stopped().is_none()
            && let Ok(next) = queue.try_recv()
        {
            match next {
                Order::Write(Length::Short, job) => {
                    answers.push(job(place.map(Transaction::Shared)))
                }
                Order::Rest => {}
                other => {
                    put_off = Some(other);
                    break;
                }
            }
        }
        self.meter.writer_gathered.observe(answers.len() as f64);
        let committed = if place.is_ok() { self.commit() } else { Ok(()) };
        for answer in answers {
            answer(committed.as_ref().copied());
        }
        if self.log_length.n_commits() != n_commits {
            self.health.wrote();
            // Full: it has been told already.
            let _ = self.rest.try_send(());
        }
        if self.duty == Duty::Keeper && committed.is_ok() {
            // What is wrong with the disk, its health knows.
            let _ = self.mover.tend();
        }
        put_off
    }

    /// Makes the transaction durable, and looks where the device could have lost it.
    fn commit(&mut self) -> Result<(), StoreError> {
        commit(&self.link)?;
        let Some(log) = &mut self.log_growth else { return Ok(()) };
        let why = match log.is_on_device(self.log_length.n_pages()) {
            Ok(true) => return Ok(()),
            Ok(false) => LOST.to_owned(),
            Err(cause) => format!("the log can't be read from the device: {cause}"),
        };
        self.health.stop(&why);
        Err(StoreError::Unsure(why.into()))
    }

    /// Moves the log and cuts it off; false where a reader stands in the way.
    fn truncate_log(&mut self) -> Result<bool, StoreError> {
        let is_cut_off = self.mover.truncate()?;
        if is_cut_off && let Some(log) = &mut self.log_growth {
            log.on_truncate();
        }
        Ok(is_cut_off)
    }

    fn rest(&mut self) {
        let session = self.link.lock();
        if self.duty == Duty::Keeper {
            // What is wrong with the disk, its health knows.
            let _ = self.mover.move_at_rest();
            if session.health().trouble().is_some() {
                // Once more, after a while.
                let _ = self.rest.try_send(());
            }
        }
        if let Err(cause) = session.script("PRAGMA shrink_memory") {
            tracing::warn!(%cause, "the writer keeps its memory");
        }
    }

    /// Answers all who wait, and touches nothing of the database any more.
    fn leave_as_it_is(self, why: &str, put_off: Option<Order>, mut queue: mpsc::Receiver<Order>) {
        let error = StoreError::Disk(why.into());
        queue.close();
        for order in put_off.into_iter().chain(std::iter::from_fn(|| queue.blocking_recv())) {
            match order {
                Order::Write(_, job) => job(Err(&error))(Ok(())),
                Order::MoveLog(answer) => drop(answer.send(Err(error.repeated()))),
                Order::TruncateLog(answer) => drop(answer.send(Err(error.repeated()))),
                Order::Rest => {}
            }
        }
        // To close it would write to it, and to unlock it would let others do so.
        std::mem::forget((self.link, self.mover));
        // Last, because nobody knows how long a disk takes that has failed.
        if self.duty == Duty::Keeper
            && let Err(cause) = Mark::Failed(why.to_owned()).write(&self.database)
        {
            tracing::error!(%cause, "that the disk failed could not be written down beside the database");
        }
    }

    /// Moves the log back into the database, and has the next start know how this one ended.
    fn finish(mut self) {
        if self.duty == Duty::Guest {
            return;
        }
        self.mover.end();
        let truncated = self.truncate_log();
        if let Some(why) = self.health.stopped() {
            let (_, nobody) = mpsc::channel(1);
            return self.leave_as_it_is(&why, None, nobody);
        }
        match truncated {
            // Readers in the way are no harm: the log is whole, and is moved at the next start.
            Ok(_) => {}
            Err(cause) => {
                tracing::warn!(%cause, "the write-ahead log could not be moved into the database");
            }
        }
        let marked = match self.health.debt() {
            Debt::None => Mark::remove(&self.database),
            // The next start looks at every page after all.
            Debt::Check => Mark::Open.write(&self.database),
            Debt::CheckFirst => {
                Mark::Failed("a page could not be read, or is damaged".into()).write(&self.database)
            }
        };
        if let Err(cause) = marked {
            tracing::warn!(%cause, "how this ended could not be written down beside the database");
        }
    }
}

fn begin(link: &Link) -> Result<(), StoreError> {
    link.lock().script("BEGIN IMMEDIATE")
}

/// Whether the transaction is still there: a full disk or an I/O error ends it without our doing.
fn is_open(link: &Link) -> bool {
    !link.lock().connection().is_autocommit()
}

/// Makes the transaction durable. Where that fails for want of room, SQLite has undone it whole. Where it fails otherwise,
/// all of it may be in the log, on the disk or not: the next start tells.
fn commit(link: &Link) -> Result<(), StoreError> {
    let session = link.lock();
    if let Some(why) = session.health().stopped() {
        return Err(StoreError::Disk(why.as_ref().into()));
    }
    if session.connection().is_autocommit() {
        // Whatever was in it is gone, also what seemed to go well.
        return Err(StoreError::Unavailable("the disk is full or fails".into()));
    }
    session.connection().execute_batch("COMMIT").map_err(|cause| {
        if fault(&cause) == Some(Fault::Full) {
            let error = session.heard(cause);
            // It may have ended by itself just now; either way none is left open.
            let _ = session.connection().execute_batch("ROLLBACK");
            return error;
        }
        session.health().stop(&format!("a commit failed: {cause}"));
        StoreError::Unsure(cause.to_string().into())
    })
}

/// Runs a write that is alone in its transaction so far.
pub(super) fn in_transaction(
    link: &Link,
    work: impl FnOnce() -> Result<(), TxFailed>,
) -> Result<(), TxFailed> {
    let result = work();
    if result.is_err() && link.lock().health().stopped().is_none() {
        // It may have ended by itself already. Should there be no new one, the commit will say so.
        let _ = link.lock().connection().execute_batch("ROLLBACK");
        let _ = begin(link);
    }
    result
}

/// Runs a write behind others.
pub(super) fn in_savepoint(
    link: &Link,
    work: impl FnOnce() -> Result<(), TxFailed>,
) -> Result<(), TxFailed> {
    link.lock().execute("SAVEPOINT request", &[])?;
    let result = work();
    let end = if result.is_ok() {
        "RELEASE request"
    } else {
        // Both: rolling back alone would leave the savepoint open.
        "ROLLBACK TO request; RELEASE request"
    };
    let ended = link.lock().script(end);
    if ended.is_err() {
        // Half of this request might be left inside: nothing of the transaction may be kept.
        let _ = link.lock().connection().execute_batch("ROLLBACK");
    }
    match (result, ended) {
        (Ok(()), Err(cause)) => Err(cause.into()),
        (result, _) => result,
    }
}
