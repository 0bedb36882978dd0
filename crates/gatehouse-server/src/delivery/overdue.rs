//! Events of a subscriber that has failed for too long: they become dead letters, without further attempts.

use gatehouse_store::{UndeliveredEvent, WorkError};

use super::plan::subject_of;
use super::turn::Turn;

/// Events that one transaction makes dead letters.
const AT_ONCE: u64 = 200;

/// Dead letters of a hub above which its further events stay in the journal, where they take no room of their own.
const DEAD_LETTERS_MAX: u64 = 10_000;

impl Turn<'_> {
    /// Makes dead letters of some events that are older than events are tried for, if no message was delivered for as
    /// long. False when there are none.
    pub(super) async fn give_up_old_events(&self) -> Result<bool, WorkError> {
        if !self.stored.failing_since.is_some_and(|since| self.is_over(since)) {
            return Ok(false);
        }
        let n_dead = self.deliverer.app.store.count_dead_letters(self.lease).await?;
        let room = DEAD_LETTERS_MAX.saturating_sub(n_dead).min(AT_ONCE);
        let mut deliveries = self.unchanged();
        let old = self.waiting.iter().filter(|it| self.is_over(it.since));
        deliveries.dead = old.take(usize::try_from(room).unwrap_or_default()).cloned().collect();
        let room = room - deliveries.dead.len() as u64;
        if room > 0
            && let Some((page, seen_to)) = self.new_events(room, &mut deliveries).await?
        {
            deliveries.position = seen_to;
            // Of a hub with several events in a message, the first ones were tried.
            let n_tried = self.stored.hub.query.batch.unwrap_or_default();
            for (n, event) in (0..).zip(page) {
                if !self.is_over(event.at) {
                    deliveries.position = event.number - 1;
                    break;
                }
                deliveries.dead.push(UndeliveredEvent {
                    number: event.number,
                    subject: subject_of(&event),
                    n_attempts: if n < n_tried { self.stored.n_failures } else { 0 },
                    since: event.at,
                    due_at: self.now,
                    why: "no message was delivered for as long as events are tried".to_owned(),
                });
            }
        }
        if deliveries == self.unchanged() {
            return Ok(false);
        }
        self.record(&deliveries).await?;
        Ok(true)
    }
}
