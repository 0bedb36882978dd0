//! Which events of a hub are sent next. A pure rule: events of one access or Task keep their order, whatever fails.

use std::collections::BTreeSet;

use gatehouse_core::Timestamp;
use gatehouse_store::{Event, EventSubject, UndeliveredEvent, WAITING_MAX};

/// Messages of one event that are under way at once.
pub(super) const AT_ONCE: usize = 8;

/// New events that are sent now, and those that wait behind an earlier one of their subject.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct NewEvents {
    /// Events to send, each of another subject.
    pub(super) send: Vec<Event>,
    /// Events that wait behind an earlier one.
    pub(super) behind: Vec<UndeliveredEvent>,
    /// Every event up to this number is sent or waits.
    pub(super) position: u64,
}

/// Identifier of an event's access or Task; empty for none.
pub(crate) fn subject_of(event: &Event) -> Vec<u8> {
    match &event.subject {
        EventSubject::Access { access, .. } => access.id.as_bytes().to_vec(),
        EventSubject::Task(task) => task.id.as_bytes().to_vec(),
        _ => Vec::new(),
    }
}

/// Retries that are under way at once, so that there is always room for new events.
const RETRIES_AT_ONCE: usize = AT_ONCE - 2;

/// The waiting events to try now: of each access or Task the first one, if it is due. A probe tries one event alone, the
/// earliest, whether it is due or not.
pub(super) fn retries(
    waiting: &[UndeliveredEvent],
    is_probe: bool,
    now: Timestamp,
) -> Vec<UndeliveredEvent> {
    if is_probe {
        return first_of_subjects(waiting)
            .min_by_key(|it| it.due_at)
            .cloned()
            .into_iter()
            .collect();
    }
    first_of_subjects(waiting)
        .filter(|it| it.due_at <= now)
        .take(RETRIES_AT_ONCE)
        .cloned()
        .collect()
}

fn first_of_subjects(waiting: &[UndeliveredEvent]) -> impl Iterator<Item = &UndeliveredEvent> {
    let mut seen = BTreeSet::new();
    waiting.iter().filter(move |it| it.subject.is_empty() || seen.insert(&it.subject))
}

/// When the next waiting event is due.
pub(super) fn next_retry(waiting: &[UndeliveredEvent]) -> Option<Timestamp> {
    first_of_subjects(waiting).map(|it| it.due_at).min()
}

/// The new events to send, at most `room`, of a page that has been looked at up to `seen_to`.
pub(super) fn new_events(
    waiting: &[UndeliveredEvent],
    room: usize,
    position: u64,
    page: Vec<Event>,
    seen_to: u64,
    now: Timestamp,
) -> NewEvents {
    let mut blocked: BTreeSet<Vec<u8>> = waiting.iter().map(|it| it.subject.clone()).collect();
    let mut n_waiting = waiting.len() as u64;
    let mut new = NewEvents { position, ..NewEvents::default() };
    for event in page {
        let subject = subject_of(&event);
        let number = event.number;
        if !subject.is_empty() && blocked.contains(&subject) {
            if new.send.iter().any(|it| subject_of(it) == subject) || n_waiting >= WAITING_MAX {
                // Known only once the earlier one is delivered.
                return new;
            }
            let why = "waits behind an earlier event of the same access or Task".to_owned();
            let since = now;
            new.behind.push(UndeliveredEvent {
                number,
                subject,
                is_refused: false,
                n_attempts: 0,
                since,
                due_at: now,
                why,
            });
            n_waiting += 1;
        } else {
            if new.send.len() >= room {
                return new;
            }
            blocked.insert(subject);
            new.send.push(event);
        }
        new.position = number;
    }
    new.position = seen_to;
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(number: u64, subject: u8, due_at: i64) -> UndeliveredEvent {
        UndeliveredEvent {
            number,
            subject: vec![subject],
            is_refused: false,
            n_attempts: 1,
            since: Timestamp::EPOCH,
            due_at: Timestamp::EPOCH.plus_milliseconds(due_at),
            why: String::new(),
        }
    }

    fn numbers(events: &[UndeliveredEvent]) -> Vec<u64> {
        events.iter().map(|it| it.number).collect()
    }

    #[test]
    fn only_the_first_event_of_an_access_is_tried_again_and_only_when_it_is_due() {
        let now = Timestamp::EPOCH.plus_milliseconds(100);
        let all = [waiting(1, 1, 200), waiting(2, 1, 0), waiting(3, 2, 50), waiting(4, 3, 150)];
        assert_eq!(numbers(&retries(&all, false, now)), [3]);
        assert_eq!(next_retry(&all), Some(Timestamp::EPOCH.plus_milliseconds(50)));
        assert_eq!(next_retry(&[]), None);
        // A probe doesn't wait for the time of the event, but for that of the subscriber.
        assert_eq!(numbers(&retries(&all[..2], true, now)), [1]);
        assert_eq!(numbers(&retries(&all, true, now)), [3]);
    }

    #[test]
    fn retries_leave_room_for_new_events() {
        let all: Vec<_> = (1..=100).map(|n| waiting(n.into(), n, 0)).collect();
        let tried = retries(&all, false, Timestamp::EPOCH);
        assert_eq!(numbers(&tried), (1..=RETRIES_AT_ONCE as u64).collect::<Vec<_>>());
    }
}
