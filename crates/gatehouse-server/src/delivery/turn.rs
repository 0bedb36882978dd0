//! A turn of one hub: messages are sent until nothing is due, or until other hubs have their turn.

use std::time::Duration;

use gatehouse_core::hub::HubQuery;
use gatehouse_core::{HubState, Timestamp};
use gatehouse_store::{
    Deliveries, Event, EventFilter, HubWork, Lease, NextDelivery, NoEvents, StoredHub,
    UndeliveredEvent, WAITING_MAX, WorkError,
};
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Deliverer;

/// Dead letters that are sent again in one message are read in pages of so many events.
const PAGE: u64 = 1000;

/// Reserve for clocks that don't run alike.
const CLOCK_RESERVE: Duration = Duration::from_secs(5);

/// How long a server works for one hub before others that are due have their turn.
const TURN: Duration = Duration::from_secs(10);

/// A hub that a server works for just now.
pub(super) struct Turn<'a> {
    pub(super) deliverer: &'a Deliverer,
    pub(super) lease: &'a Lease,
    pub(super) stored: StoredHub,
    /// Events that wait for another attempt.
    pub(super) waiting: Vec<UndeliveredEvent>,
    /// The store's time.
    pub(super) now: Timestamp,
    /// When the turn began.
    pub(super) began: Instant,
    /// When another server may get the lease.
    lease_ends: Mutex<Instant>,
}

/// Whether a hub has more to do at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// There may be more to send under the same lease.
    MayHaveMore,
    /// The lease was released, or the hub is gone.
    Released,
}

impl Deliverer {
    /// Sends messages of a hub for a while, or until nothing is due.
    pub(super) async fn send_messages(
        &self,
        lease: &Lease,
        stopping: &CancellationToken,
    ) -> Result<(), WorkError> {
        let began = Instant::now();
        let store = &self.app.store;
        let mut lease_ends = began + self.lease();
        loop {
            let Some(work) = store.hub_work(lease).await? else {
                // The tenant was deleted.
                return store.remove_hub(lease, None).await;
            };
            if stopping.is_cancelled() || began.elapsed() > TURN {
                store.release(lease).await?;
                return Ok(());
            }
            let turn = Turn::new(self, lease, work, lease_ends);
            if turn.step().await? == Progress::Released {
                return Ok(());
            }
            lease_ends = *turn.lease_ends.lock();
        }
    }
}

impl<'a> Turn<'a> {
    fn new(deliverer: &'a Deliverer, lease: &'a Lease, work: HubWork, lease_ends: Instant) -> Self {
        let HubWork { stored, waiting, now } = work;
        let (began, lease_ends) = (Instant::now(), Mutex::new(lease_ends));
        Self { deliverer, lease, stored, waiting, now, began, lease_ends }
    }

    /// The hub as it is stored now; `None` if it is gone.
    pub(super) async fn again(&self) -> Result<Option<Self>, WorkError> {
        let work = self.deliverer.app.store.hub_work(self.lease).await?;
        Ok(work.map(|work| Self::new(self.deliverer, self.lease, work, *self.lease_ends.lock())))
    }

    /// Makes sure that no other server gets the lease before a message is answered that is sent now.
    pub(super) async fn keep_lease(&self) -> Result<(), WorkError> {
        let timeout = self.deliverer.app.events.callback_timeout.get();
        let began = Instant::now();
        if began + timeout + CLOCK_RESERVE < *self.lease_ends.lock() {
            return Ok(());
        }
        let milliseconds = self.deliverer.lease_milliseconds();
        if !self.deliverer.app.store.renew_lease(self.lease, milliseconds).await? {
            return Err(WorkError::LeaseLost);
        }
        *self.lease_ends.lock() = began + self.deliverer.lease();
        Ok(())
    }

    async fn step(&self) -> Result<Progress, WorkError> {
        let blocked_until = self.stored.blocked_until.filter(|until| *until > self.now);
        match (self.stored.hub.state, blocked_until, self.stored.hub.query.batch) {
            (HubState::Paused, ..) => self.release(NextDelivery::Paused).await,
            (HubState::Ending, Some(until), _) => self.release(NextDelivery::At(until)).await,
            (HubState::Ending, None, _) => self.send_end().await,
            (HubState::Active, Some(until), _) => self.release(NextDelivery::At(until)).await,
            (HubState::Active, None, Some(n_max)) => self.send_batch(n_max).await,
            (HubState::Active, None, None) => self.send_each().await,
        }
    }

    /// Releases the lease of a hub that has nothing to send. Its next message is not the retry of an earlier one.
    pub(super) async fn rest(&self) -> Result<Progress, WorkError> {
        let (n_failures, blocked_until) = (0, None);
        let deliveries = Deliveries { n_failures, blocked_until, ..self.unchanged() };
        let (store, next) = (&self.deliverer.app.store, NextDelivery::WithEvents);
        store.record_deliveries(self.lease, &deliveries, next).await?;
        Ok(Progress::Released)
    }

    /// The hub as it is, of which nothing was sent.
    pub(super) fn unchanged(&self) -> Deliveries {
        Deliveries {
            position: self.stored.position,
            n_failures: self.stored.n_failures,
            failing_since: self.stored.failing_since,
            blocked_until: self.stored.blocked_until,
            n_requests: self.stored.n_requests,
            ..Deliveries::default()
        }
    }

    /// Stores the outcomes of messages, and keeps the lease.
    pub(super) async fn record(&self, deliveries: &Deliveries) -> Result<Progress, WorkError> {
        let (next, began) =
            (NextDelivery::Now(self.deliverer.lease_milliseconds()), Instant::now());
        self.deliverer.app.store.record_deliveries(self.lease, deliveries, next).await?;
        *self.lease_ends.lock() = began + self.deliverer.lease();
        Ok(Progress::MayHaveMore)
    }

    /// Releases the lease of a hub that has nothing to send until then.
    pub(super) async fn release(&self, next: NextDelivery) -> Result<Progress, WorkError> {
        let is_full = self.waiting.len() as u64 >= WAITING_MAX;
        let deliveries = Deliveries { is_full, ..self.unchanged() };
        self.deliverer.app.store.record_deliveries(self.lease, &deliveries, next).await?;
        Ok(Progress::Released)
    }

    /// Whether an event that should have been delivered since then is tried no more.
    pub(super) fn is_over(&self, since: Timestamp) -> bool {
        self.now.as_millisecond() - since.as_millisecond() >= self.deliverer.retry_milliseconds()
    }

    /// The event with this number; `None` if it was deleted for its age.
    pub(super) async fn event(&self, number: u64) -> Result<Option<Event>, WorkError> {
        let (store, all) = (&self.deliverer.app.store, EventFilter::default());
        let _turn = self.deliverer.reading.acquire().await;
        let page = store.events(&self.lease.key.tenant, Some(number - 1), 1, &all).await?;
        Ok(page.ok().and_then(|page| page.events.into_iter().next()))
    }

    /// Events from this number on; none if it was deleted for its age.
    pub(super) async fn page_from(&self, number: u64) -> Result<Vec<Event>, WorkError> {
        let (store, all) = (&self.deliverer.app.store, EventFilter::default());
        let _turn = self.deliverer.reading.acquire().await;
        let page = store.events(&self.lease.key.tenant, Some(number - 1), PAGE, &all).await?;
        Ok(page.map(|page| page.events).unwrap_or_default())
    }

    /// New events of the hub, at most `n_max`, and the number up to which they were looked for. `None` if the hub's
    /// position had to be moved, which `deliveries` says then.
    pub(super) async fn new_events(
        &self,
        n_max: u64,
        deliveries: &mut Deliveries,
    ) -> Result<Option<(Vec<Event>, u64)>, WorkError> {
        let (store, tenant) = (&self.deliverer.app.store, &self.lease.key.tenant);
        let position = self.stored.position;
        let _turn = self.deliverer.reading.acquire().await;
        match store.events(tenant, Some(position), n_max, &filter(&self.stored.hub.query)).await? {
            Ok(page) => Ok(Some((page.events, page.seen_to))),
            Err(NoEvents::Deleted { oldest }) => {
                deliveries.n_missed += oldest - 1 - position;
                deliveries.position = oldest - 1;
                Ok(None)
            }
            Err(NoEvents::Ahead { last }) => {
                // The store was restored from a backup, and gives these numbers to other events.
                let hub = self.stored.hub.id;
                tracing::warn!(%tenant, %hub, position, last, "the hub is ahead of the journal, and set back to its end");
                deliveries.position = last;
                Ok(None)
            }
            Err(NoEvents::NotBegun) => Ok(None),
        }
    }
}

fn filter(query: &HubQuery) -> EventFilter {
    EventFilter {
        types: query.types.clone(),
        access: query.access,
        contract: query.contract.clone(),
        ..EventFilter::default()
    }
}
