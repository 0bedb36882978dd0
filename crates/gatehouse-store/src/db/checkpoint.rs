//! Moving SQLite's log into the database, beside the writer.
//!
//! The log grows with every commit and is moved into the database from time to time, which takes as long as
//! many commits. Were that a part of some commit, as SQLite has it by itself, whoever waits for that commit
//! would wait for all of it. So a thread of its own does it, and the writer goes on writing meanwhile. Only a log that
//! has become very long anyway is moved by the writer: it must not grow for ever.
//!
//! The same thread notices when nothing worth moving has come for a while, and says so: then the writer needs little memory.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::hooks::Wal;

use crate::error::StoreError;
use crate::guard::guard;

/// A log of so many pages is worth moving: 16 MB. Most creations change the same few hundred pages again, which are
/// moved once however often they are in it.
const PAGES_WORTH_MOVING: i32 = 4000;

/// A log of so many pages is moved by the writer itself: 128 MB.
const PAGES_MAX: i32 = 32_768;

/// How long it is quiet before the writer is taken to be at rest: longer than between two batches of somebody who makes
/// one after the other.
const QUIET: Duration = Duration::from_secs(5);

/// Moves the log of one database. Two can't do that at the same time, so each takes this lock.
#[derive(Clone, Default)]
pub(super) struct Turn(Arc<Mutex<()>>);

impl Turn {
    /// Does something for which nobody else may be moving the log.
    pub(super) fn alone<T>(&self, work: impl FnOnce() -> T) -> T {
        let _turn = guard(&self.0);
        work()
    }
}

/// Starts a thread that moves what `writer` writes, until the writer is told to stop asking; it calls `at_rest` each time
/// that much was written and no more comes.
pub(super) fn start(
    path: &Path,
    writer: &mut Connection,
    turn: Turn,
    at_rest: impl Fn() + Send + 'static,
) -> Result<JoinHandle<()>, StoreError> {
    // One order is enough, however many commits ask for it.
    let (order, orders) = sync_channel(1);
    let mover = Connection::open(path)?;
    writer.wal_hook(Some(move |log: &mut Wal, n_pages| {
        ask(&order, log, n_pages);
        Ok(())
    }))?;
    std::thread::Builder::new()
        .name("sqlite-log".into())
        .spawn(move || move_until_closed(&mover, &orders, &turn, QUIET, at_rest))
        .map_err(|cause| StoreError::Unavailable(cause.into()))
}

/// Has the writer ask no more, so that the thread ends.
pub(super) fn stop(writer: &mut Connection, mover: JoinHandle<()>) {
    let stopped = writer.wal_hook(None::<fn(&mut Wal, i32) -> rusqlite::Result<()>>);
    if stopped.is_ok() {
        // It panics nowhere; and if it did, the log is whole.
        let _ = mover.join();
    }
}

/// What the writer does after each commit.
fn ask(order: &SyncSender<()>, log: &mut Wal, n_pages: i32) {
    if n_pages >= PAGES_WORTH_MOVING {
        // Full: it is asked for already.
        let _ = order.try_send(());
    }
    if n_pages >= PAGES_MAX {
        // The thread may be doing it just now. Then the next commit tries again.
        let _ = log.checkpoint();
    }
}

fn move_until_closed(
    mover: &Connection,
    orders: &Receiver<()>,
    turn: &Turn,
    quiet: Duration,
    at_rest: impl Fn(),
) {
    while orders.recv().is_ok() {
        loop {
            let moved = turn.alone(|| mover.execute_batch("PRAGMA wal_checkpoint(PASSIVE)"));
            if let Err(cause) = moved {
                tracing::warn!(%cause, "the write-ahead log could not be moved into the database");
            }
            match orders.recv_timeout(quiet) {
                Ok(()) => {}
                Err(RecvTimeoutError::Timeout) => break at_rest(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_writer_is_at_rest_once_after_all_that_it_wrote() {
        let (order, orders) = sync_channel(1);
        let (rested, rests) = sync_channel(8);
        let mover = Connection::open_in_memory().unwrap();
        let thread = std::thread::spawn(move || {
            let at_rest = || rested.send(()).unwrap();
            move_until_closed(&mover, &orders, &Turn::default(), Duration::from_millis(1), at_rest);
        });
        for _ in 0..2 {
            order.send(()).unwrap();
            rests.recv().unwrap();
        }
        drop(order);
        thread.join().unwrap();
        assert!(rests.recv().is_err(), "who writes nothing more rests no more");
    }
}
