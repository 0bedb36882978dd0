//! The thread that checkpoints the log while the writer continues.
//!
//! After a commit the writer requests a checkpoint and doesn't wait for it. When the log has become long, the thread
//! leaves its last pages to the writer, which checkpoints them between two transactions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

use parking_lot::Mutex;

use super::log::Log;
use super::log_length::LogLength;
use crate::error::StoreError;

/// The writer's handle of the log and of the checkpoint thread.
pub(super) struct Checkpointer {
    log: Arc<Mutex<Log>>,
    length: Arc<LogLength>,
    /// `None` where the writer itself checkpoints.
    thread: Option<Thread>,
}

struct Thread {
    requests: SyncSender<()>,
    handle: JoinHandle<()>,
    /// Set when the writer must finish the checkpoint.
    is_finish_due: Arc<AtomicBool>,
}

impl Checkpointer {
    /// Makes the writer's own thread checkpoint.
    pub(super) fn inline(log: Log, length: Arc<LogLength>) -> Self {
        Self { log: Arc::new(Mutex::new(log)), length, thread: None }
    }

    /// Starts the checkpoint thread. When the disk fails, the thread calls `failed` and ends.
    pub(super) fn start(
        log: Log,
        length: Arc<LogLength>,
        failed: impl FnOnce() + Send + 'static,
    ) -> Result<Self, StoreError> {
        let log = Arc::new(Mutex::new(log));
        // One pending request covers any number of commits.
        let (requests, requested) = sync_channel(1);
        let is_finish_due = Arc::new(AtomicBool::new(false));
        let shared = (Arc::clone(&log), Arc::clone(&length), Arc::clone(&is_finish_due));
        let handle = thread::Builder::new()
            .name("sqlite-ckpt".into())
            .spawn(move || {
                let (log, length, is_finish_due) = shared;
                if checkpoint_on_request(&requested, &log, &length, &is_finish_due).is_err() {
                    failed();
                }
            })
            .map_err(|cause| StoreError::Unavailable(cause.into()))?;
        Ok(Self { log, length, thread: Some(Thread { requests, handle, is_finish_due }) })
    }

    /// Checkpoints the log, or requests it, if the log is long enough. Called by the writer between two transactions.
    pub(super) fn after_commit(&self) -> Result<(), StoreError> {
        match &self.thread {
            Some(thread) if thread.is_finish_due.swap(false, Ordering::Relaxed) => {
                self.log.lock().finish_checkpoint()
            }
            _ if !self.length.is_checkpoint_due() => Ok(()),
            Some(thread) => match thread.requests.try_send(()) {
                // Full: a request is pending already.
                Ok(()) | Err(TrySendError::Full(())) => Ok(()),
                Err(TrySendError::Disconnected(())) => self.checkpoint_inline(),
            },
            None => self.checkpoint_inline(),
        }
    }

    /// Checkpoints on the writer's own thread.
    fn checkpoint_inline(&self) -> Result<(), StoreError> {
        let mut log = self.log.lock();
        log.checkpoint()?;
        if self.length.is_finish_due() { log.finish_checkpoint() } else { Ok(()) }
    }

    /// Checkpoints the log if it holds more than a few pages. Called by the writer when it has nothing to write.
    pub(super) fn checkpoint_when_idle(&self) -> Result<(), StoreError> {
        match self.length.is_checkpoint_due_when_idle() {
            true => self.log.lock().finish_checkpoint(),
            false => Ok(()),
        }
    }

    /// Checkpoints the log and truncates it; false where a reader prevents that. Called by the writer.
    pub(super) fn truncate(&self) -> Result<bool, StoreError> {
        self.log.lock().truncate()
    }

    /// Ends the checkpoint thread.
    pub(super) fn end(&mut self) {
        if let Some(Thread { requests, handle, .. }) = self.thread.take() {
            drop(requests);
            // A thread that panicked has left the log unchanged.
            let _ = handle.join();
        }
    }
}

fn checkpoint_on_request(
    requested: &Receiver<()>,
    log: &Mutex<Log>,
    length: &LogLength,
    is_finish_due: &AtomicBool,
) -> Result<(), StoreError> {
    while requested.recv().is_ok() {
        let mut log = log.lock();
        match log.checkpoint() {
            Ok(_) => {}
            Err(cause) if log.is_stopped() => return Err(cause),
            // The next request retries.
            Err(cause) => tracing::warn!(%cause, "the write-ahead log could not be checkpointed"),
        }
        drop(log);
        if length.is_finish_due() {
            // The writer finishes this checkpoint, so a pending request is obsolete.
            let _ = requested.try_recv();
            is_finish_due.store(true, Ordering::Relaxed);
        }
    }
    Ok(())
}
