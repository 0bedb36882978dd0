//! One attempt to deliver a message, and how long a subscriber is left alone that fails.

use std::time::Duration;

use gatehouse_core::Timestamp;
use gatehouse_core::hub::{RETRY_PAUSE_MAX_MILLISECONDS, retry_pause_milliseconds};
use gatehouse_store::{Deliveries, Event, SentMessage, UndeliveredEvent, WorkError};
use gatehouse_vault::{WebhookSecret, random};
use http::StatusCode;
use tokio::time::Instant;

use super::message::Message;
use super::plan::subject_of;
use super::turn::{Progress, Turn};
use crate::app::hub;

/// Rounds of messages without any success after which a subscriber counts as failing, though it answers.
const REFUSALS_MAX: u64 = 10;

/// Longest pause of a subscriber that answers: it may refuse only some events, and new ones shouldn't wait for long.
const REFUSAL_PAUSE_MAX_MILLISECONDS: i64 = 60_000;

/// Pause of a hub whose secret this server can't open.
const KEY_PAUSE_MILLISECONDS: i64 = 10_000;

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

    /// The secrets that sign messages now. `None` if one can't be opened: a message that no subscriber can verify would
    /// count as delivered.
    pub(super) fn secrets(&self) -> Option<Vec<WebhookSecret>> {
        let (stored, vault) = (&self.stored, &self.deliverer.app.vault);
        let former = stored.hub.former_secret_until.is_some_and(|until| until > self.now);
        let former = stored.former_secret.as_ref().filter(|_| former);
        let purpose = hub::purpose(&self.lease.key.tenant, stored.hub.id);
        let mut secrets = Vec::new();
        for sealed in [Some(&stored.secret), former].into_iter().flatten() {
            match vault.open_webhook_secret(&purpose, sealed) {
                Ok(secret) => secrets.push(secret),
                Err(why) => {
                    let (tenant, hub) = (&self.lease.key.tenant, stored.hub.id);
                    tracing::error!(%tenant, %hub, %why, "the hub's secret can't be opened; nothing is sent");
                    return None;
                }
            }
        }
        Some(secrets)
    }

    /// Leaves a hub to servers that have the key of its secret.
    pub(super) async fn wait_for_key(&self) -> Result<Progress, WorkError> {
        self.deliverer.app.store.postpone(self.lease, KEY_PAUSE_MILLISECONDS).await?;
        Ok(Progress::Released)
    }

    /// The store's time, and how long the attempts took.
    fn after_attempt(&self) -> Timestamp {
        let passed = i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.now.plus_milliseconds(passed)
    }

    /// Counts attempts that were made together; true if none was a success. Then a subscriber that is out of reach gets
    /// nothing for a while, as does any subscriber whose messages follow one another. A single message that fails once
    /// says nothing about the others.
    pub(super) fn count(
        &self,
        attempts: &[Attempt],
        is_in_order: bool,
        deliveries: &mut Deliveries,
    ) -> bool {
        deliveries.messages.extend(attempts.iter().map(|it| it.message.clone()));
        if attempts.iter().any(|it| it.is_delivered) {
            deliveries.has_recovered = deliveries.blocked_until.is_some();
            (deliveries.n_failures, deliveries.failing_since) = (0, None);
            deliveries.blocked_until = None;
            return false;
        }
        deliveries.n_failures += 1;
        deliveries.failing_since.get_or_insert(self.now);
        let is_out_of_reach = attempts.iter().all(|it| it.is_out_of_reach)
            && (attempts.len() > 1 || deliveries.n_failures > 1);
        let is_blocked = is_in_order || is_out_of_reach || deliveries.n_failures >= REFUSALS_MAX;
        deliveries.blocked_until = is_blocked.then(|| {
            let asked_for = attempts.iter().filter_map(|it| it.retry_after).max();
            let asked_for = asked_for.unwrap_or_default().as_millis();
            let asked_for = i64::try_from(asked_for).unwrap_or(i64::MAX);
            let mut pause = self.pause(deliveries.n_failures);
            if !is_in_order && !is_out_of_reach {
                pause = pause.min(REFUSAL_PAUSE_MAX_MILLISECONDS);
            }
            let pause = pause.max(asked_for.min(RETRY_PAUSE_MAX_MILLISECONDS));
            self.after_attempt().plus_milliseconds(pause)
        });
        true
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
            is_refused: !attempt.is_out_of_reach,
            n_attempts,
            since: match (before, self.stored.failing_since) {
                (Some(before), _) if before.n_attempts > 0 => before.since,
                (_, None) => self.now,
                // It would have been sent already, if the subscriber took messages.
                (Some(before), Some(_)) => before.since,
                (None, Some(since)) => event.at.max(since).min(self.now),
            },
            due_at: self.after_attempt().plus_milliseconds(self.pause(n_attempts)),
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
