//! Events of a subscriber that has failed for too long: they become dead letters, without further attempts.

use gatehouse_store::{Deliveries, UndeliveredEvent, WorkError};

use super::plan::subject_of;
use super::turn::Turn;

/// Events that one transaction makes dead letters.
const AT_ONCE: u64 = 200;

/// Dead letters of a hub above which its further events stay in the journal, where they take no room of their own.
const DEAD_LETTERS_MAX: u64 = 10_000;

impl Turn<'_> {
    /// Whether the hub may have one more dead letter.
    pub(super) fn has_room_for_dead_letters(&self, deliveries: &Deliveries) -> bool {
        self.stored.n_dead + (deliveries.dead.len() as u64) < DEAD_LETTERS_MAX
    }

    /// Makes dead letters of events that are older than events are tried for, after an attempt has failed again, if no
    /// message was delivered for as long.
    pub(super) async fn give_up_old_events(&self, failed: &Deliveries) -> Result<(), WorkError> {
        if !failed.failing_since.is_some_and(|since| self.is_over(since)) {
            return Ok(());
        }
        // Looked up again: the attempt has changed what waits.
        while let Some(turn) = self.again().await? {
            let room = DEAD_LETTERS_MAX.saturating_sub(turn.stored.n_dead).min(AT_ONCE);
            let mut deliveries = turn.unchanged();
            let old = turn.waiting.iter().filter(|it| self.is_over(it.since));
            deliveries.dead =
                old.take(usize::try_from(room).unwrap_or_default()).cloned().collect();
            let room = room - deliveries.dead.len() as u64;
            if room > 0
                && let Some((page, seen_to)) = turn.new_events(room, &mut deliveries).await?
            {
                deliveries.position = seen_to;
                // Of a hub with several events in a message, the first ones were tried.
                let n_tried = turn.stored.hub.query.batch.unwrap_or_default();
                for (n, event) in (0..).zip(page) {
                    if !self.is_over(event.at) {
                        deliveries.position = event.number - 1;
                        break;
                    }
                    deliveries.dead.push(UndeliveredEvent {
                        number: event.number,
                        subject: subject_of(&event),
                        is_refused: false,
                        n_attempts: if n < n_tried { turn.stored.n_failures } else { 0 },
                        since: event.at,
                        due_at: self.now,
                        why: "no message was delivered for as long as events are tried".to_owned(),
                    });
                }
            }
            if deliveries == turn.unchanged() {
                return Ok(());
            }
            turn.record(&deliveries).await?;
        }
        Ok(())
    }
}
