//! Sending events to subscribers.
//!
//! Each hub is worked for by one server at a time, under a lease; every server takes part. A subscriber that is slow or
//! gone holds up only its own hub: hubs are worked for side by side, and each tenant has a share of what is under way.

mod attempt;
mod batch;
mod each;
mod end;
mod message;
pub(crate) mod meter;
mod overdue;
mod plan;
mod turn;

pub(crate) use plan::subject_of as journal_subject;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::TenantName;
use gatehouse_store::{Lease, StoreError, WorkKind};
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::app::App;

/// Hubs that one server works for at once.
const HUBS_AT_ONCE: usize = 256;

/// Hubs of one tenant that one server works for at once.
const HUBS_OF_TENANT: usize = 16;

/// Longest time until hubs that other servers have woken are noticed.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// How long a lease lasts beyond the time that a message may take.
const LEASE_RESERVE: Duration = Duration::from_secs(15);

/// How long messages under way may take when the server stops. They are sent again if they take longer.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Pause between two looks at how far hubs are behind, for their metrics.
const BACKLOG_INTERVAL: Duration = Duration::from_secs(10);

/// Pause of a hub whose tenant has its share under way.
const SHARE_PAUSE_MILLISECONDS: i64 = 5000;

/// Pause after a failure of the store.
const RETRY_MILLISECONDS: i64 = 1000;

/// Sends events of every tenant's hubs.
#[derive(Clone)]
pub(crate) struct Deliverer {
    app: App,
    /// Beginning of the addresses in events.
    base: String,
    under_way: Arc<Mutex<HashMap<TenantName, usize>>>,
    /// Events are read for one hub at a time, so that hubs leave the store to requests.
    reading: Arc<Semaphore>,
    /// Ends messages that take too long while the server stops.
    cut_off: CancellationToken,
}

/// One of a tenant's hubs that are worked for.
struct Share {
    under_way: Arc<Mutex<HashMap<TenantName, usize>>>,
    tenant: TenantName,
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut under_way = self.under_way.lock();
        if let Some(n) = under_way.get_mut(&self.tenant) {
            *n -= 1;
            if *n == 0 {
                under_way.remove(&self.tenant);
            }
        }
    }
}

impl Deliverer {
    pub(crate) fn new(app: App, base: String) -> Self {
        let reading = Arc::new(Semaphore::new(1));
        let cut_off = CancellationToken::new();
        Self { app, base, under_way: Arc::default(), reading, cut_off }
    }

    fn lease(&self) -> Duration {
        self.app.events.callback_timeout.get() + LEASE_RESERVE
    }

    fn lease_milliseconds(&self) -> i64 {
        milliseconds(self.lease())
    }

    /// How long an event is tried.
    fn retry_milliseconds(&self) -> i64 {
        milliseconds(self.app.events.callback_retry_for.get())
    }

    /// Works for hubs, until the server stops; then it completes the messages that are under way.
    pub(crate) async fn run(self, stopping: CancellationToken) {
        let tracker = TaskTracker::new();
        let steps = async {
            loop {
                if tracker.len() < HUBS_AT_ONCE {
                    match self.claim(&tracker, &stopping).await {
                        Ok(true) => continue,
                        Ok(false) => {}
                        Err(error) => tracing::debug!(%error, "hubs are looked for again"),
                    }
                }
                _ = tokio::time::timeout(POLL_INTERVAL, self.app.deliveries_due.notified()).await;
            }
        };
        let backlogs = async {
            loop {
                self.app.hub_meter.measure(&self.app.store).await;
                if let Err(error) = self.app.store.sweep_hubs().await {
                    tracing::debug!(%error, "idle hubs are looked at again");
                }
                tokio::time::sleep(BACKLOG_INTERVAL).await;
            }
        };
        // Either goes on until the server stops.
        let both = async { tokio::join!(steps, backlogs) };
        stopping.run_until_cancelled(both).await;
        tracker.close();
        if tokio::time::timeout(STOP_TIMEOUT, tracker.wait()).await.is_err() {
            self.cut_off.cancel();
            tracker.wait().await;
        }
    }

    /// Claims a hub that is due, and works for it beside the others; false when none is due. One whose tenant has its
    /// share under way is postponed.
    async fn claim(
        &self,
        tracker: &TaskTracker,
        stopping: &CancellationToken,
    ) -> Result<bool, StoreError> {
        let store = &self.app.store;
        let lease = store.claim_due(&[WorkKind::Hub], self.lease_milliseconds()).await?;
        let Some(lease) = lease else { return Ok(false) };
        let tenant = lease.key.tenant.clone();
        let n = {
            let mut under_way = self.under_way.lock();
            let n = under_way.entry(tenant.clone()).or_default();
            *n += 1;
            *n
        };
        let share = Share { under_way: Arc::clone(&self.under_way), tenant };
        if n > HUBS_OF_TENANT {
            store.postpone(&lease, SHARE_PAUSE_MILLISECONDS).await?;
            return Ok(true);
        }
        let (deliverer, stopping) = (self.clone(), stopping.clone());
        tracker.spawn(async move {
            deliverer.cut_off.run_until_cancelled(deliverer.work(&lease, &stopping)).await;
            drop(share);
            deliverer.app.wake_deliveries();
        });
        Ok(true)
    }

    /// Works for a hub for a while.
    async fn work(&self, lease: &Lease, stopping: &CancellationToken) {
        if let Err(error) = self.send_messages(lease, stopping).await {
            let (tenant, hub) = (&lease.key.tenant, lease.key.name.as_str());
            tracing::warn!(%tenant, hub, %error, "messages of the hub are tried again");
            // Best effort: the lease ends anyway.
            let _ = self.app.store.postpone(lease, RETRY_MILLISECONDS).await;
        }
    }
}

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
