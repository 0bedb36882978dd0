//! Several events in one message: in the order of their numbers, one message after the other.

use gatehouse_store::{Event, WorkError};

use super::turn::{Progress, Turn};

impl Turn<'_> {
    /// Sends the next events in one message, dead letters that are sent again first.
    pub(super) async fn send_batch(&self, n_max: u64) -> Result<Progress, WorkError> {
        let mut deliveries = self.unchanged();
        let mut events = self.replayed(n_max, &mut deliveries).await?;
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
        if let Some(next) = events.get(message.n_events) {
            // Its body is long enough without the others.
            seen_to = next.number - 1;
            events.truncate(message.n_events);
        }
        let Some(secrets) = self.secrets() else { return self.wait_for_key().await };
        self.keep_lease().await?;
        let attempt = self.attempt(&message, &secrets, first, events.len() as u64).await;
        if attempt.is_gone {
            return self.end_for_subscriber().await;
        }
        let is_delivered = attempt.is_delivered;
        let is_failure = self.count(&[attempt], true, &mut deliveries);
        match (is_delivered, is_replay) {
            (true, true) => deliveries.done.extend(events.iter().map(|it| it.number)),
            (true, false) => deliveries.position = seen_to,
            (false, _) => {}
        }
        self.record(&deliveries).await?;
        if is_failure {
            self.give_up_old_events(&deliveries).await?;
        }
        Ok(Progress::MayHaveMore)
    }

    /// The first dead letters that are sent again. They may be far apart, and are read in few pages.
    async fn replayed(
        &self,
        n_max: u64,
        deliveries: &mut gatehouse_store::Deliveries,
    ) -> Result<Vec<Event>, WorkError> {
        let mut wanted = self.waiting.iter().take(usize::try_from(n_max).unwrap_or(usize::MAX));
        let mut events = Vec::new();
        let mut next = wanted.next();
        while let Some(first) = next.map(|it| it.number) {
            let page = self.page_from(first).await?;
            let last = page.last().map_or(first, |it| it.number.max(first));
            let mut page = page.into_iter().peekable();
            while let Some(number) = next.map(|it| it.number).filter(|it| *it <= last) {
                while page.next_if(|it| it.number < number).is_some() {}
                match page.next_if(|it| it.number == number) {
                    Some(event) => events.push(event),
                    None => {
                        // Deleted for its age.
                        deliveries.done.push(number);
                        deliveries.n_missed += 1;
                    }
                }
                next = wanted.next();
            }
        }
        Ok(events)
    }
}
