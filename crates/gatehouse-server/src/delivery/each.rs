//! Events in messages of their own: several at once, and those of one access or Task in order.

use futures_util::future::join_all;
use gatehouse_store::{Event, NextDelivery, UndeliveredEvent, WAITING_MAX, WorkError};

use super::plan::{self, AT_ONCE};
use super::turn::{Progress, Turn};

/// New events that are read at once.
const READ_AT_ONCE: u64 = 32;

impl Turn<'_> {
    /// Sends the events that are due, a few at once.
    pub(super) async fn send_each(&self) -> Result<Progress, WorkError> {
        let mut deliveries = self.unchanged();
        // Whether the subscriber can be reached again is tried with two messages: one that has failed, and a new one,
        // because the failure may be the message's own.
        let is_probe = self.stored.blocked_until.is_some();
        let mut sending: Vec<(Event, Option<UndeliveredEvent>)> = Vec::new();
        for retry in plan::retries(&self.waiting, is_probe, self.now) {
            match self.event(retry.number).await? {
                Some(event) => sending.push((event, Some(retry))),
                None => {
                    // Deleted for its age.
                    deliveries.done.push(retry.number);
                    deliveries.n_missed += 1;
                }
            }
        }
        let room = if is_probe { 1 } else { AT_ONCE - sending.len() };
        let n_max = if is_probe { 1 } else { READ_AT_ONCE };
        if (self.waiting.len() as u64) < WAITING_MAX
            && let Some((page, seen_to)) = self.new_events(n_max, &mut deliveries).await?
        {
            let position = deliveries.position;
            let new = plan::new_events(&self.waiting, room, position, page, seen_to, self.now);
            deliveries.position = new.position;
            deliveries.waiting.extend(new.behind);
            sending.extend(new.send.into_iter().map(|event| (event, None)));
        }
        if sending.is_empty() {
            if deliveries != self.unchanged() {
                return self.record(&deliveries).await;
            }
            return match plan::next_retry(&self.waiting) {
                Some(at) => self.release(NextDelivery::At(at)).await,
                None => self.rest().await,
            };
        }
        let Some(secrets) = self.secrets() else { return self.wait_for_key().await };
        self.keep_lease().await?;
        let attempts = join_all(sending.iter().map(async |(event, _)| {
            let message = self.message(std::slice::from_ref(event));
            self.attempt(&message, &secrets, event.number, 1).await
        }));
        let attempts = attempts.await;
        if attempts.iter().any(|it| it.is_gone) {
            return self.end_for_subscriber().await;
        }
        let is_failure = self.count(&attempts, false, &mut deliveries);
        for ((event, before), attempt) in sending.iter().zip(&attempts) {
            if attempt.is_delivered {
                deliveries.done.extend(before.as_ref().map(|it| it.number));
                continue;
            }
            let failed = self.failed(event, before.as_ref(), attempt);
            match self.is_over(failed.since) && self.has_room_for_dead_letters(&deliveries) {
                true => deliveries.dead.push(failed),
                false => deliveries.waiting.push(failed),
            }
        }
        self.record(&deliveries).await?;
        if is_failure {
            self.give_up_old_events(&deliveries).await?;
        }
        Ok(Progress::MayHaveMore)
    }
}
