//! One attempt to deliver a message, and how long a subscriber is left alone that fails.

use std::time::Duration;

use gatehouse_core::hub::{RETRY_PAUSE_MAX_MILLISECONDS, retry_pause_milliseconds};
use gatehouse_store::{Deliveries, Event, SentMessage, UndeliveredEvent};
use gatehouse_vault::{WebhookSecret, random};
use http::StatusCode;
use tokio::time::Instant;

use super::message::Message;
use super::plan::subject_of;
use super::turn::Turn;
use crate::app::hub;

/// Failures in a row that tell a subscriber that fails from a single message that it refuses.
const FAILURES_OF_ONE: u64 = 3;

/// The outcome of sending a message.
pub(super) struct Attempt {
    pub(super) message: SentMessage,
    pub(super) is_delivered: bool,
    /// The subscriber has ended the hub.
    pub(super) is_gone: bool,
    /// The subscriber can't take any message now.
    is_out_of_reach: bool,
    /// The pause that the subscriber has asked for.
    retry_after: Option<Duration>,
}

impl Turn<'_> {
    /// The message with these events, at least one.
    pub(super) fn message(&self, events: &[Event]) -> Message {
        Message::of(&self.deliverer.base, &self.lease.key.tenant, &self.stored.hub, events)
    }

    /// Sends a message once.
    pub(super) async fn attempt(
        &self,
        message: &Message,
        secrets: &[WebhookSecret],
        first: u64,
        n_events: u64,
    ) -> Attempt {
        let app = &self.deliverer.app;
        let (at, began) = (app.now(), Instant::now());
        let (headers, body) = (message.signed(secrets, at), message.body.clone());
        let limit = app.events.callback_timeout.get();
        let response = app.callbacks.post(&self.stored.hub.callback, headers, body, limit).await;
        let milliseconds = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let status = response.as_ref().ok().map(|it| it.status);
        let is_delivered = status.is_some_and(|it| it.is_success());
        let why = match &response {
            Ok(_) if is_delivered => None,
            Ok(response) => Some(format!("the subscriber answered {}", response.status.as_u16())),
            Err(why) => Some(why.to_string()),
        };
        self.deliverer.app.hub_meter.count(
            &self.lease.key.tenant,
            self.stored.hub.id,
            is_delivered,
        );
        Attempt {
            is_delivered,
            is_gone: status == Some(StatusCode::GONE),
            is_out_of_reach: status.is_none_or(is_overload),
            retry_after: response.ok().and_then(|it| it.retry_after),
            message: SentMessage {
                at,
                first,
                n_events,
                status: status.map(|it| it.as_u16()),
                milliseconds,
                why,
            },
        }
    }

    /// The secrets that sign messages now.
    pub(super) fn secrets(&self) -> Vec<WebhookSecret> {
        let (stored, vault) = (&self.stored, &self.deliverer.app.vault);
        let former = stored.hub.former_secret_until.is_some_and(|until| until > self.now);
        let former = stored.former_secret.as_ref().filter(|_| former);
        let purpose = hub::purpose(&self.lease.key.tenant, stored.hub.id);
        let opened = [Some(&stored.secret), former].into_iter().flatten().filter_map(|sealed| {
            let opened = vault.open_webhook_secret(&purpose, sealed);
            let hub = stored.hub.id;
            opened.inspect_err(|why| tracing::error!(%hub, %why, "a secret can't be opened")).ok()
        });
        opened.collect()
    }

    /// Counts attempts that were made together. If none was a success, a subscriber that is out of reach gets nothing
    /// for a while; nor does any subscriber whose messages follow one another.
    pub(super) fn count(
        &self,
        attempts: &[Attempt],
        is_in_order: bool,
        deliveries: &mut Deliveries,
    ) {
        deliveries.messages.extend(attempts.iter().map(|it| it.message.clone()));
        if attempts.iter().any(|it| it.is_delivered) {
            deliveries.has_recovered =
                deliveries.blocked_until.is_some() || deliveries.n_failures >= FAILURES_OF_ONE;
            (deliveries.n_failures, deliveries.failing_since) = (0, None);
            deliveries.blocked_until = None;
            return;
        }
        deliveries.n_failures += 1;
        deliveries.failing_since.get_or_insert(self.now);
        let is_blocked = is_in_order || attempts.iter().all(|it| it.is_out_of_reach);
        deliveries.blocked_until = is_blocked.then(|| {
            let asked_for = attempts.iter().filter_map(|it| it.retry_after).max();
            let asked_for = asked_for.unwrap_or_default().as_millis();
            let asked_for = i64::try_from(asked_for).unwrap_or(i64::MAX);
            let pause =
                self.pause(deliveries.n_failures).max(asked_for.min(RETRY_PAUSE_MAX_MILLISECONDS));
            self.now.plus_milliseconds(pause)
        });
    }

    /// An event that was not delivered, and waits.
    pub(super) fn failed(
        &self,
        event: &Event,
        before: Option<&UndeliveredEvent>,
        attempt: &Attempt,
    ) -> UndeliveredEvent {
        let n_attempts = before.map_or(0, |it| it.n_attempts) + 1;
        UndeliveredEvent {
            number: event.number,
            subject: subject_of(event),
            n_attempts,
            since: before.filter(|it| it.n_attempts > 0).map_or(self.now, |it| it.since),
            due_at: self.now.plus_milliseconds(self.pause(n_attempts)),
            why: attempt.message.why.clone().unwrap_or_default(),
        }
    }

    fn pause(&self, n_failures: u64) -> i64 {
        let [spread] = random::bytes();
        retry_pause_milliseconds(n_failures, self.deliverer.retry_milliseconds(), spread)
    }
}

/// Whether this status says that no message can be taken now.
fn is_overload(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}
