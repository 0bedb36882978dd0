//! Waking the followers of tenants' events, whichever server has numbered them.
//!
//! One loop in each server reads the last numbers of all tenants that have followers, in one query for all of them: a
//! follower that waits costs no statement. It reads them twice a second, and at once when this server has numbered
//! events. Without followers it reads nothing. A notification of PostgreSQL would not pass a pooler.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::TenantName;
use gatehouse_store::Store;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

/// Longest time until events that other servers have numbered are noticed.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Last numbers of the followed journals.
#[derive(Default)]
pub(crate) struct EventWatch {
    followed: Mutex<HashMap<TenantName, watch::Sender<JournalEnd>>>,
    /// Notified when there is something to read: a new follower, or events that this server has numbered.
    woken: Notify,
}

/// End of a tenant's journal, as it was last read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JournalEnd {
    Unread,
    Last(u64),
    /// The tenant was deleted.
    Gone,
}

impl EventWatch {
    /// Begins to follow a tenant's events.
    pub(crate) fn follow(self: &Arc<Self>, tenant: &TenantName) -> Follower {
        let mut followed = self.followed.lock();
        let sender = followed.entry(tenant.clone());
        let end = sender.or_insert_with(|| watch::Sender::new(JournalEnd::Unread)).subscribe();
        self.woken.notify_one();
        Follower { watch: Arc::clone(self), tenant: tenant.clone(), end }
    }

    /// Reads the last numbers at once.
    pub(crate) fn wake(&self) {
        self.woken.notify_one();
    }

    /// Reads the last numbers while there are followers, until the server stops.
    pub(crate) async fn run(&self, store: &Store, stopping: &CancellationToken) {
        let steps = async {
            loop {
                let tenants: Vec<TenantName> = self.followed.lock().keys().cloned().collect();
                if tenants.is_empty() {
                    self.woken.notified().await;
                    continue;
                }
                match store.last_events(&tenants).await {
                    Ok(ends) => self.publish(&tenants, &ends),
                    Err(error) => tracing::debug!(%error, "the ends of journals are read again"),
                }
                _ = tokio::time::timeout(POLL_INTERVAL, self.woken.notified()).await;
            }
        };
        stopping.run_until_cancelled(steps).await;
    }

    fn publish(&self, tenants: &[TenantName], ends: &HashMap<TenantName, u64>) {
        let followed = self.followed.lock();
        for tenant in tenants {
            let end = ends.get(tenant).map_or(JournalEnd::Gone, |last| JournalEnd::Last(*last));
            if let Some(sender) = followed.get(tenant) {
                sender.send_if_modified(|before| std::mem::replace(before, end) != end);
            }
        }
    }
}

/// A follower of a tenant's events, until this is dropped.
pub(crate) struct Follower {
    watch: Arc<EventWatch>,
    tenant: TenantName,
    end: watch::Receiver<JournalEnd>,
}

/// Change of a journal that a follower waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    NewEvents,
    Deleted,
}

impl Follower {
    /// Waits until the journal has events behind a number, or is deleted with its tenant.
    pub(crate) async fn until_after(&mut self, number: u64) -> Change {
        let is_due = |end: &JournalEnd| match end {
            JournalEnd::Unread => false,
            JournalEnd::Last(last) => *last > number,
            JournalEnd::Gone => true,
        };
        // The sender lives as long as its receivers.
        match self.end.wait_for(is_due).await.as_deref() {
            Ok(JournalEnd::Last(_) | JournalEnd::Unread) => Change::NewEvents,
            Ok(JournalEnd::Gone) | Err(_) => Change::Deleted,
        }
    }

    /// Whether the journal seems to end before a number: perhaps a failover has lost its last events.
    pub(crate) fn ends_before(&self, number: u64) -> bool {
        matches!(*self.end.borrow(), JournalEnd::Last(last) if last < number)
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let mut followed = self.watch.followed.lock();
        if let Entry::Occupied(entry) = followed.entry(self.tenant.clone())
            && entry.get().receiver_count() <= 1
        {
            entry.remove();
        }
    }
}

#[cfg(test)]
mod tests;
