//! Publishing one tenant's events, page by page.

use std::collections::BTreeSet;
use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::header::NATS_MESSAGE_ID;
use futures_util::future::join_all;
use gatehouse_core::TenantName;
use gatehouse_store::{Event, EventFilter, Lease, NoEvents, OutletPosition, OutletRest, WorkError};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::subject::subject_of;
use super::{LEASE_MILLISECONDS, NatsOutlet, RETRY_MILLISECONDS};
use crate::delivery::journal_subject;
use crate::http::event_json;

/// How long a server works for one tenant before others have their turn.
const TURN: Duration = Duration::from_secs(10);

/// Shortest time between two warnings that events are not stored.
const WARNING_INTERVAL: Duration = Duration::from_secs(30);

/// Events that are read at once, and the most that are under way.
const READ_AT_ONCE: u64 = 256;

impl NatsOutlet {
    /// Publishes a tenant's events for a while.
    pub(super) async fn work(&self, lease: &Lease, stopping: &CancellationToken) {
        if let Err(error) = self.publish_all(lease, stopping).await {
            let tenant = &lease.key.tenant;
            tracing::warn!(%tenant, %error, "the tenant's events are published to NATS later");
            // Best effort: the lease ends anyway.
            let _ = self.app.store.postpone(lease, RETRY_MILLISECONDS).await;
        }
    }

    async fn publish_all(
        &self,
        lease: &Lease,
        stopping: &CancellationToken,
    ) -> Result<(), WorkError> {
        let (store, tenant, began) = (&self.app.store, &lease.key.tenant, Instant::now());
        loop {
            let Some(mut reached) = store.outlet_position(lease).await? else {
                // The tenant was deleted.
                return store.finish_due(lease).await;
            };
            if stopping.is_cancelled() || began.elapsed() > TURN {
                return store.record_outlet(lease, reached, OutletRest::After(0)).await;
            }
            let all = EventFilter::default();
            let page = store.events(tenant, Some(reached.position), READ_AT_ONCE, &all).await?;
            let rest = match page {
                Ok(page) if page.events.is_empty() => OutletRest::None,
                Ok(page) => self.publish(tenant, &page.events, &mut reached).await,
                Err(NoEvents::Deleted { oldest }) => {
                    reached.n_missed += oldest - 1 - reached.position;
                    reached.position = oldest - 1;
                    OutletRest::Now(LEASE_MILLISECONDS)
                }
                Err(NoEvents::Ahead { last }) => {
                    // The store was restored from a backup, and gives these numbers to other events.
                    let position = reached.position;
                    tracing::warn!(%tenant, position, last, "NATS is ahead of the journal, and set back to its end");
                    reached.position = last;
                    OutletRest::Now(LEASE_MILLISECONDS)
                }
                Err(NoEvents::NotBegun) => OutletRest::None,
            };
            store.record_outlet(lease, reached, rest).await?;
            if !matches!(rest, OutletRest::Now(_)) {
                return Ok(());
            }
        }
    }

    /// Publishes events in order; moves the position behind those that a stream has stored.
    async fn publish(
        &self,
        tenant: &TenantName,
        events: &[Event],
        reached: &mut OutletPosition,
    ) -> OutletRest {
        let mut rest = events;
        while !rest.is_empty() {
            let (group, later) = rest.split_at(independent(rest));
            let acks = join_all(group.iter().map(|event| self.publish_one(tenant, event))).await;
            let n_stored = acks.iter().filter(|it| it.is_ok()).count();
            self.meter.count(n_stored, acks.len() - n_stored);
            for (event, ack) in group.iter().zip(acks) {
                if let Err(error) = ack {
                    let number = event.number;
                    if self.may_warn() {
                        tracing::warn!(%tenant, number, error, "NATS has not stored an event; it is published again");
                    }
                    return OutletRest::After(RETRY_MILLISECONDS);
                }
                reached.position = event.number;
            }
            rest = later;
        }
        OutletRest::Now(LEASE_MILLISECONDS)
    }

    /// Whether it is time for another warning: without a stream, every tenant's events fail each second.
    fn may_warn(&self) -> bool {
        let mut warned_at = self.warned_at.lock();
        let is_time = warned_at.is_none_or(|at| at.elapsed() >= WARNING_INTERVAL);
        if is_time {
            *warned_at = Some(Instant::now());
        }
        is_time
    }

    /// Publishes an event, and waits until a stream has stored it.
    async fn publish_one(&self, tenant: &TenantName, event: &Event) -> Result<(), String> {
        let mut headers = HeaderMap::new();
        headers.insert(NATS_MESSAGE_ID, event.id.to_string());
        headers.insert("Content-Type", "application/json");
        let body = event_json(&self.base, tenant, event);
        let subject = subject_of(tenant, event);
        let sent = self.jetstream.publish_with_headers(subject, headers, body).await;
        let ack = sent.map_err(|why| why.to_string())?;
        ack.await.map(drop).map_err(|why| why.to_string())
    }
}

/// Length of the first part of these events in which no access and no Task comes twice.
fn independent(events: &[Event]) -> usize {
    let mut seen = BTreeSet::new();
    let is_repeated = |event: &Event| !seen.insert(journal_subject(event));
    events.iter().position(is_repeated).unwrap_or(events.len())
}
