//! The end of a hub: its deletion is the last event that it gets.

use gatehouse_core::event::{Cause, Origin};
use gatehouse_store::{NextDelivery, WorkError};

use super::message::Message;
use super::turn::{Progress, Turn};
use crate::app::audit;

/// How long the last message of a hub is tried.
const TRIED_MILLISECONDS: i64 = 60 * 60 * 1000;

impl Turn<'_> {
    /// Sends the last message of a hub that was ended.
    pub(super) async fn send_end(&self) -> Result<Progress, WorkError> {
        let store = &self.deliverer.app.store;
        let ended_at = self.stored.ended_at.unwrap_or(self.now);
        let message = Message::of_end(&self.lease.key.tenant, &self.stored.hub, ended_at);
        let Some(secrets) = self.secrets() else { return self.wait_for_key().await };
        self.keep_lease().await?;
        let attempts = [self.attempt(&message, &secrets, self.stored.position, 1).await];
        let last_attempt = ended_at.plus_milliseconds(TRIED_MILLISECONDS);
        if attempts[0].is_delivered || attempts[0].is_gone || self.now >= last_attempt {
            store.remove_hub(self.lease, None).await?;
            return Ok(Progress::Released);
        }
        let mut deliveries = self.unchanged();
        self.count(&attempts, true, &mut deliveries);
        let next = deliveries.blocked_until.map_or(last_attempt, |it| it.min(last_attempt));
        deliveries.blocked_until = Some(next);
        store.record_deliveries(self.lease, &deliveries, NextDelivery::At(next)).await?;
        Ok(Progress::Released)
    }

    /// Removes a hub whose subscriber has answered 410.
    pub(super) async fn end_for_subscriber(&self) -> Result<Progress, WorkError> {
        let audited = audit::of_hub(&Origin::of(Cause::Server));
        let (tenant, hub) = (&self.lease.key.tenant, self.stored.hub.id);
        tracing::info!(%tenant, %hub, "the subscriber has ended the hub (410)");
        self.deliverer.app.store.remove_hub(self.lease, Some(&audited)).await?;
        Ok(Progress::Released)
    }
}
