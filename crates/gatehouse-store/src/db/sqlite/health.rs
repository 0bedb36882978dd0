//! How the disk under SQLite's database is, as far as reads and writes have told.
//!
//! A full disk heals: whatever did not fit was undone whole. An error does not. After one nobody knows which of the
//! pages that the system keeps in memory are on the disk, and asking it again to write them proves nothing: it reports
//! such an error once. So the first one that a write meets ends all writing, for good.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::error::DiskTrouble;

/// How long after a write nobody needs to try whether another one would go through.
const FRESH: Duration = Duration::from_secs(5);

/// A look at every page that has to be made up for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Debt {
    /// None.
    #[default]
    None,
    /// After an end that was not clean.
    Check,
    /// Before anything is answered: a page could not be read, or is damaged.
    CheckFirst,
}

#[derive(Default)]
struct Condition {
    /// Why all writing ended.
    stopped: Option<Arc<str>>,
    is_unreadable: bool,
    debt: Debt,
    is_full: bool,
    /// There is no room to move the log into the database.
    is_log_stuck: bool,
}

/// The condition of one database's disk, shared by all who read and write it.
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

    /// What is wrong, the worst of it.
    pub(crate) fn trouble(&self) -> Option<DiskTrouble> {
        let now = self.condition.borrow();
        let all = [
            (now.stopped.is_some(), DiskTrouble::Stopped),
            (now.is_unreadable, DiskTrouble::Unreadable),
            (now.is_full || now.is_log_stuck, DiskTrouble::Full),
        ];
        all.into_iter().find(|(is_so, _)| *is_so).map(|(_, trouble)| trouble)
    }

    /// Ends all writing. Only the first reason counts: what follows is its consequence.
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

    /// Why all writing ended, if it did.
    pub(crate) fn stopped(&self) -> Option<Arc<str>> {
        self.condition.borrow().stopped.clone()
    }

    /// Comes when all writing has ended, with the reason.
    pub(crate) async fn until_stopped(&self) -> Arc<str> {
        let mut condition = self.condition.subscribe();
        let stopped = condition.wait_for(|now| now.stopped.is_some()).await;
        let stopped = stopped.ok().and_then(|now| now.stopped.clone());
        stopped.unwrap_or_else(|| "the store was let go of".into())
    }

    /// Every page has to be looked at, at the next start if not before.
    pub(crate) fn owe(&self, debt: Debt) {
        self.condition.send_modify(|now| now.debt = now.debt.max(debt));
    }

    /// What has not been looked at yet.
    pub(super) fn debt(&self) -> Debt {
        self.condition.borrow().debt
    }

    /// A read failed.
    pub(crate) fn unreadable(&self, why: &str) {
        self.owe(Debt::CheckFirst);
        let is_new =
            self.condition.send_if_modified(|now| !std::mem::replace(&mut now.is_unreadable, true));
        if is_new {
            tracing::error!(
                %why,
                "a part of the database can't be read: look at the disk, and check the store with `gatehouse doctor --deep`"
            );
        }
    }

    /// Comes when a read has failed, and no check has found since that all can be read.
    pub(crate) async fn until_unreadable(&self) {
        let mut condition = self.condition.subscribe();
        // The sender is `self`: it is not dropped meanwhile.
        let _ = condition.wait_for(|now| now.is_unreadable).await;
    }

    /// There was no room for something.
    pub(super) fn full(&self, why: &str) {
        let is_new =
            self.condition.send_if_modified(|now| !std::mem::replace(&mut now.is_full, true));
        if is_new {
            tracing::error!(%why, "the disk is full: writes are refused until there is room");
        }
    }

    /// There was no room to move the log, which has everything all the same.
    pub(super) fn log_stuck(&self, why: &str) {
        let is_new =
            self.condition.send_if_modified(|now| !std::mem::replace(&mut now.is_log_stuck, true));
        if is_new {
            tracing::error!(%why, "the disk is full: the log can't be moved into the database, and grows until there is room");
        }
    }

    /// The log was moved.
    pub(super) fn log_moved(&self) {
        self.condition.send_if_modified(|now| std::mem::take(&mut now.is_log_stuck));
    }

    /// Something was written and is durable.
    pub(super) fn wrote(&self) {
        *self.last_write.lock() = Some(Instant::now());
        let was_full = self.condition.send_if_modified(|now| std::mem::take(&mut now.is_full));
        if was_full {
            tracing::info!("the disk has room again");
        }
    }

    /// Whether a write went through just now, so that nobody needs to try.
    pub(super) fn wrote_lately(&self) -> bool {
        self.last_write.lock().is_some_and(|at| at.elapsed() < FRESH)
    }

    /// Every page has been looked at, and is as it should be.
    pub(crate) fn found_sound(&self) {
        self.condition.send_modify(|now| {
            now.is_unreadable = false;
            now.debt = Debt::None;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_heals_and_a_failed_one_does_not() {
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
    fn a_check_that_finds_nothing_takes_a_failed_read_back() {
        let health = Health::new();
        health.unreadable("EIO");
        assert_eq!(health.trouble(), Some(DiskTrouble::Unreadable));
        assert_eq!(health.debt(), Debt::CheckFirst);
        health.found_sound();
        assert_eq!(health.debt(), Debt::None);
        assert_eq!(health.trouble(), None);
    }
}
