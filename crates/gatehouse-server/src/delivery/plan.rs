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
pub(super) fn subject_of(event: &Event) -> Vec<u8> {
    match &event.subject {
        EventSubject::Access { access, .. } => access.id.as_bytes().to_vec(),
        EventSubject::Task(task) => task.id.as_bytes().to_vec(),
        _ => Vec::new(),
    }
}

/// The waiting events to try now: of each access or Task the first one, if it is due. For a probe only one, that which is
/// due first, even if later.
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
    first_of_subjects(waiting).filter(|it| it.due_at <= now).take(AT_ONCE).cloned().collect()
}

fn first_of_subjects(waiting: &[UndeliveredEvent]) -> impl Iterator<Item = &UndeliveredEvent> {
    let mut seen = BTreeSet::new();
    waiting.iter().filter(move |it| it.subject.is_empty() || seen.insert(&it.subject))
}

/// When the next waiting event is due.
pub(super) fn next_retry(waiting: &[UndeliveredEvent]) -> Option<Timestamp> {
    first_of_subjects(waiting).map(|it| it.due_at).min()
}

/// The new events to send beside `n_under_way` others, of a page that has been looked at up to `seen_to`.
pub(super) fn new_events(
    waiting: &[UndeliveredEvent],
    n_under_way: usize,
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
                n_attempts: 0,
                since,
                due_at: now,
                why,
            });
            n_waiting += 1;
        } else {
            if n_under_way + new.send.len() >= AT_ONCE {
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
