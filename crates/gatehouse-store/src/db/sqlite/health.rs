//! Health of the disk under SQLite's database, as reads and writes have shown it.
//!
//! A full disk recovers: SQLite rolls back what didn't fit. An I/O error doesn't. After one, nothing tells which pages
//! of the page cache are on the disk, and a second flush proves nothing, because the system reports such an error once.
//! So the first I/O error of a write ends all writing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::error::DiskTrouble;

/// Time after a write during which a health check needs no write of its own.
const FRESH: Duration = Duration::from_secs(5);

/// A full check of the database that has to be made up for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PendingCheck {
    /// No check is needed.
    #[default]
    None,
    /// A check during operation, after an unclean shutdown.
    AfterStart,
    /// A check before the next start: a page could not be read, or is damaged.
    BeforeStart,
}

#[derive(Default)]
struct Condition {
    /// Why all writing has ended.
    stopped: Option<Arc<str>>,
    is_unreadable: bool,
    pending_check: PendingCheck,
    is_full: bool,
    /// There is no room to checkpoint the log.
    is_checkpoint_stuck: bool,
}

/// Health of one database's disk, shared by its readers and its writer.
pub(crate) struct Health {
    condition: watch::Sender<Condition>,
    /// When a write was last made durable.
    last_write: Mutex<Option<Instant>>,
}

impl Health {
    pub(super) fn new() -> Self {
        let condition = watch::Sender::new(Condition::default());
        Self { condition, last_write: Mutex::default() }
    }

    /// The worst trouble; `None` for a healthy disk.
    pub(crate) fn trouble(&self) -> Option<DiskTrouble> {
        let now = self.condition.borrow();
        let all = [
            (now.stopped.is_some(), DiskTrouble::Stopped),
            (now.is_unreadable, DiskTrouble::Unreadable),
            (now.is_full || now.is_checkpoint_stuck, DiskTrouble::Full),
        ];
        all.into_iter().find(|(is_so, _)| *is_so).map(|(_, trouble)| trouble)
    }

    /// Ends all writing. Only the first reason is kept, because the later ones are its consequences.
    pub(super) fn stop(&self, why: &str) {
        let is_first = self.condition.send_if_modified(|now| {
            let is_first = now.stopped.is_none();
            now.stopped.get_or_insert_with(|| why.into());
            is_first
        });
        if is_first {
            tracing::error!(
                %why,
                "the disk failed, or the database on it is damaged: nothing more is written, and the server ends. Look \
                 at the disk (the kernel's log, SMART), mend it or take another, then start the server: it takes up \
                 everything that it has answered, and checks the database first. Where that is refused, `gatehouse \
                 restore --from BACKUP`"
            );
        }
    }

    /// Why all writing has ended; `None` while it goes on.
    pub(crate) fn stopped(&self) -> Option<Arc<str>> {
        self.condition.borrow().stopped.clone()
    }

    /// Waits until all writing has ended, and returns the reason.
    pub(crate) async fn until_stopped(&self) -> Arc<str> {
        let mut condition = self.condition.subscribe();
        let stopped = condition.wait_for(|now| now.stopped.is_some()).await;
        let stopped = stopped.ok().and_then(|now| now.stopped.clone());
        stopped.unwrap_or_else(|| "the store was let go of".into())
    }

    /// Records that a full check is needed, at the next start if not before.
    pub(crate) fn require_check(&self, pending_check: PendingCheck) {
        self.condition.send_modify(|now| now.pending_check = now.pending_check.max(pending_check));
    }

    /// The full check that is still needed.
    pub(super) fn pending_check(&self) -> PendingCheck {
        self.condition.borrow().pending_check
    }

    /// Records a failed read.
    pub(crate) fn unreadable(&self, why: &str) {
        self.require_check(PendingCheck::BeforeStart);
        let is_new =
            self.condition.send_if_modified(|now| !std::mem::replace(&mut now.is_unreadable, true));
        if is_new {
            tracing::error!(
                %why,
                "a part of the database can't be read: look at the disk, and check the store with `gatehouse doctor --deep`"
            );
        }
    }

    /// Waits until a read has failed and no full check has passed since.
    pub(crate) async fn until_unreadable(&self) {
        let mut condition = self.condition.subscribe();
        // `self` holds the sender, so the channel stays open.
        let _ = condition.wait_for(|now| now.is_unreadable).await;
    }

    /// Records that a write found the disk full.
    pub(super) fn full(&self, why: &str) {
        let is_new =
            self.condition.send_if_modified(|now| !std::mem::replace(&mut now.is_full, true));
        if is_new {
            tracing::error!(%why, "the disk is full: writes are refused until there is room");
        }
    }

    /// Records that a checkpoint found the disk full. The log still has everything.
    pub(super) fn checkpoint_stuck(&self, why: &str) {
        let is_new = self
            .condition
            .send_if_modified(|now| !std::mem::replace(&mut now.is_checkpoint_stuck, true));
        if is_new {
            tracing::error!(%why, "the disk is full: the log can't be moved into the database, and grows until there is room");
        }
    }

    /// Records a checkpoint that succeeded.
    pub(super) fn checkpoint_done(&self) {
        self.condition.send_if_modified(|now| std::mem::take(&mut now.is_checkpoint_stuck));
    }

    /// Records a durable write.
    pub(super) fn wrote(&self) {
        *self.last_write.lock() = Some(Instant::now());
        let was_full = self.condition.send_if_modified(|now| std::mem::take(&mut now.is_full));
        if was_full {
            tracing::info!("the disk has room again");
        }
    }

    /// Whether a write succeeded a short time ago.
    pub(super) fn wrote_lately(&self) -> bool {
        self.last_write.lock().is_some_and(|at| at.elapsed() < FRESH)
    }

    /// Records that a full check has passed.
    pub(crate) fn record_clean_check(&self) {
        self.condition.send_modify(|now| {
            now.is_unreadable = false;
            now.pending_check = PendingCheck::None;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_recovers_and_a_failed_one_does_not() {
        let health = Health::new();
        assert_eq!(health.trouble(), None);
        health.full("no room");
        assert_eq!(health.trouble(), Some(DiskTrouble::Full));
        health.wrote();
        assert_eq!(health.trouble(), None);
        assert!(health.wrote_lately());
        health.stop("EIO");
        health.stop("another");
        health.wrote();
        assert_eq!(health.trouble(), Some(DiskTrouble::Stopped));
        assert_eq!(health.stopped().as_deref(), Some("EIO"), "what came first is the reason");
    }

    #[test]
    fn a_passed_check_clears_a_failed_read() {
        let health = Health::new();
        health.unreadable("EIO");
        assert_eq!(health.trouble(), Some(DiskTrouble::Unreadable));
        assert_eq!(health.pending_check(), PendingCheck::BeforeStart);
        health.record_clean_check();
        assert_eq!(health.pending_check(), PendingCheck::None);
        assert_eq!(health.trouble(), None);
    }
}
