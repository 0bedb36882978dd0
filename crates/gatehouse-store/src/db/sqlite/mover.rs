//! The thread that moves the log beside the writer.
//!
//! After a commit the writer requests a checkpoint and doesn't wait for it. Where the log has become long, the mover leaves
//! its last pages to the writer, which moves them between two transactions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

use parking_lot::Mutex;

use super::log::Log;
use super::log_length::LogLength;
use crate::error::StoreError;

/// The writer's hold on the log and on the thread that moves it.
pub(super) struct Mover {
    log: Arc<Mutex<Log>>,
    length: Arc<LogLength>,
    /// `None` where the writer itself moves everything: a test counts the calls of its disk.
    thread: Option<Thread>,
}

struct Thread {
    asks: SyncSender<()>,
    handle: JoinHandle<()>,
    /// Set when the writer must finish the checkpoint.
    is_end_due: Arc<AtomicBool>,
}

impl Mover {
    /// Has the writer's own thread move everything.
    pub(super) fn inline(log: Log, length: Arc<LogLength>) -> Self {
        Self { log: Arc::new(Mutex::new(log)), length, thread: None }
    }

    /// Starts a thread that moves the log. When the disk fails, the thread calls `failed` and ends.
    pub(super) fn start(
        log: Log,
        length: Arc<LogLength>,
        failed: impl FnOnce() + Send + 'static,
    ) -> Result<Self, StoreError> {
        let log = Arc::new(Mutex::new(log));
        // One request is enough, however many commits ask.
        let (asks, asked) = sync_channel(1);
        let is_end_due = Arc::new(AtomicBool::new(false));
        let shared = (Arc::clone(&log), Arc::clone(&length), Arc::clone(&is_end_due));
        let handle = thread::Builder::new()
            .name("sqlite-mover".into())
            .spawn(move || {
                let (log, length, is_end_due) = shared;
                if move_when_asked(&asked, &log, &length, &is_end_due).is_err() {
                    failed();
                }
            })
            .map_err(|cause| StoreError::Unavailable(cause.into()))?;
        Ok(Self { log, length, thread: Some(Thread { asks, handle, is_end_due }) })
    }

    /// Moves the log, or has it moved, if it is long enough. Called by the writer between two transactions.
    pub(super) fn tend(&self) -> Result<(), StoreError> {
        match &self.thread {
            Some(thread) if thread.is_end_due.swap(false, Ordering::Relaxed) => {
                self.log.lock().move_to_end()
            }
            _ if !self.length.is_worth_moving() => Ok(()),
            Some(thread) => match thread.asks.try_send(()) {
                // Full: the thread has been asked already.
                Ok(()) | Err(TrySendError::Full(())) => Ok(()),
                Err(TrySendError::Disconnected(())) => self.move_here(),
            },
            None => self.move_here(),
        }
    }

    /// Moves the log on the writer's own thread.
    fn move_here(&self) -> Result<(), StoreError> {
        let mut log = self.log.lock();
        log.move_beside_writer()?;
        if self.length.is_end_due() { log.move_to_end() } else { Ok(()) }
    }

    /// Moves the log if it holds more than a little. Called by the writer when there is nothing to write.
    pub(super) fn move_at_rest(&self) -> Result<(), StoreError> {
        match self.length.is_worth_moving_at_rest() {
            true => self.log.lock().move_to_end(),
            false => Ok(()),
        }
    }

    /// Moves the log and cuts it off; false where a reader stands in the way. Called by the writer.
    pub(super) fn truncate(&self) -> Result<bool, StoreError> {
        self.log.lock().truncate()
    }

    /// Ends the thread.
    pub(super) fn end(&mut self) {
        if let Some(Thread { asks, handle, .. }) = self.thread.take() {
            drop(asks);
            // A thread that has panicked has left the log as it is.
            let _ = handle.join();
        }
    }
}

fn move_when_asked(
    asked: &Receiver<()>,
    log: &Mutex<Log>,
    length: &LogLength,
    is_end_due: &AtomicBool,
) -> Result<(), StoreError> {
    while asked.recv().is_ok() {
        let mut log = log.lock();
        match log.move_beside_writer() {
            Ok(_) => {}
            Err(cause) if log.is_stopped() => return Err(cause),
            // The next request tries again.
            Err(cause) => tracing::warn!(%cause, "the write-ahead log could not be moved"),
        }
        drop(log);
        if length.is_end_due() {
            // The writer is next, and would wait for another round of this thread.
            let _ = asked.try_recv();
            is_end_due.store(true, Ordering::Relaxed);
        }
    }
    Ok(())
}
