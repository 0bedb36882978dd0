//! Several events in one message: in the order of their numbers, one message after the other.

use gatehouse_store::WorkError;

use super::turn::{Progress, Turn};

impl Turn<'_> {
    /// Sends the next events in one message, dead letters that are sent again first.
    pub(super) async fn send_batch(&self, n_max: u64) -> Result<Progress, WorkError> {
        let mut deliveries = self.unchanged();
        let mut events = Vec::new();
        for retry in self.waiting.iter().take(usize::try_from(n_max).unwrap_or(usize::MAX)) {
            match self.event(retry.number).await? {
                Some(event) => events.push(event),
                None => {
                    // Deleted for its age.
                    deliveries.done.push(retry.number);
                    deliveries.n_missed += 1;
                }
            }
        }
        let is_replay = !events.is_empty();
        let mut seen_to = self.stored.position;
        if self.waiting.is_empty()
            && let Some(page) = self.new_events(n_max, &mut deliveries).await?
        {
            (events, seen_to) = page;
        }
        let Some(first) = events.first().map(|it| it.number) else {
            deliveries.position = deliveries.position.max(seen_to);
            if deliveries != self.unchanged() {
                return self.record(&deliveries).await;
            }
            return self.rest().await;
        };
        let message = self.message(&events);
        let n_events = events.len() as u64;
        let attempts = [self.attempt(&message, &self.secrets(), first, n_events).await];
        if attempts[0].is_gone {
            return self.end_for_subscriber().await;
        }
        self.count(&attempts, true, &mut deliveries);
        if attempts[0].is_delivered {
            deliveries.position = seen_to;
            if is_replay {
                deliveries.done.extend(events.iter().map(|it| it.number));
            }
        }
        self.record(&deliveries).await
    }
}
