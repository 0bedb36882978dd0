//! Reading a tenant's events in the order of their numbers.

use gatehouse_core::event::{Cause, EventType};
use gatehouse_core::{AccessId, ContractId, TaskId, TenantName, Timestamp};

use super::Journal;
use super::unfolding::{Event, EventSubject, StoredEntry, events_of, unfold};
use crate::Store;
use crate::db::Tx;
use crate::error::StoreError;

/// Events that one request looks at for a page, where a filter leaves some out.
const EVENTS_SEEN_MAX: u64 = 20_000;

/// Events that are read at once to be filtered, at least.
const FILTERED: u64 = 500;

/// Events that a page selects; a condition that is missing is met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// One of these types; none for any.
    pub types: Vec<EventType>,
    /// The event's access.
    pub access: Option<AccessId>,
    /// The contract of the event's access.
    pub contract: Option<ContractId>,
    /// The Task that is the event's subject or its cause.
    pub task: Option<TaskId>,
    /// At this time or later.
    pub from: Option<Timestamp>,
    /// Before this time.
    pub before: Option<Timestamp>,
    /// Caused by this subject.
    pub subject: Option<String>,
}

impl EventFilter {
    fn is_met(&self, event: &Event) -> bool {
        let access = match &event.subject {
            EventSubject::Access { access, .. } => Some(access),
            _ => None,
        };
        (self.types.is_empty() || self.types.contains(&event.event_type))
            && self.access.is_none_or(|id| access.is_some_and(|it| it.id == id))
            && self
                .contract
                .as_ref()
                .is_none_or(|id| access.is_some_and(|it| it.contract_id == *id))
            && self.task.is_none_or(|id| event.task() == Some(id))
            && self.from.is_none_or(|from| event.at >= from)
            && self.before.is_none_or(|before| event.at < before)
            && self.subject.as_deref().is_none_or(|it| event.caused_by() == Some(it))
    }
}

/// A page of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventPage {
    /// The events that the filter selects.
    pub events: Vec<Event>,
    /// Every event up to this number has been looked at: the next page begins behind it.
    pub seen_to: u64,
    /// Number of the journal's last event.
    pub last: u64,
}

/// Why there is no page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoEvents {
    /// The journal hasn't begun: servers of an older version may run.
    NotBegun,
    /// The events behind this position were deleted for their age; the oldest one that is left has this number.
    Deleted {
        /// Number of the oldest event.
        oldest: u64,
    },
    /// The journal has no such number yet.
    Ahead {
        /// Number of the last event.
        last: u64,
    },
}

impl Store {
    /// Number of the last event of a tenant; `None` before its journal has begun. What is read afterwards shows every
    /// change up to this event.
    pub async fn last_event(&self, tenant: &TenantName) -> Result<Option<u64>, StoreError> {
        let sql = "SELECT last FROM journal WHERE tenant = ?1";
        self.db.row(sql, &[tenant.as_str().into()], |row| row.count(0)).await
    }

    /// Number of the last event of a journal; `None` before it has begun.
    pub async fn last_event_in(&self, journal: &Journal) -> Result<Option<u64>, StoreError> {
        let sql = journal_sql!(journal.kind(), "SELECT last FROM " ends " WHERE tenant = ?1");
        self.db.row(sql, &[journal.key().into()], |row| row.count(0)).await
    }

    /// The events behind a number, or from the oldest one on, at most `n_max` of them.
    pub async fn events(
        &self,
        tenant: &TenantName,
        after: Option<u64>,
        n_max: u64,
        filter: &EventFilter,
    ) -> Result<Result<EventPage, NoEvents>, StoreError> {
        self.events_in(&Journal::Changes(tenant.clone()), after, n_max, filter).await
    }

    /// The events of a journal behind a number, or from the oldest one on, at most `n_max` of them.
    pub async fn events_in(
        &self,
        journal: &Journal,
        after: Option<u64>,
        n_max: u64,
        filter: &EventFilter,
    ) -> Result<Result<EventPage, NoEvents>, StoreError> {
        let (name, filter) = (journal.clone(), filter.clone());
        let read = async move |tx: Tx| {
            let Some(ends) = super::read_ends(&tx, &name).await? else {
                return Ok(Err(NoEvents::NotBegun));
            };
            let after = after.unwrap_or(ends.deleted_to);
            if after < ends.deleted_to {
                return Ok(Err(NoEvents::Deleted { oldest: ends.deleted_to + 1 }));
            }
            if after > ends.last {
                return Ok(Err(NoEvents::Ahead { last: ends.last }));
            }
            let page = EventPage { events: Vec::new(), seen_to: after, last: ends.last };
            fill(&tx, &name, page, n_max, &filter).await.map(Ok)
        };
        self.db.snapshot(journal.snapshot_for(), read).await
    }
}

async fn fill(
    tx: &Tx,
    journal: &Journal,
    mut page: EventPage,
    n_max: u64,
    filter: &EventFilter,
) -> Result<EventPage, StoreError> {
    // A filter may leave most of them out.
    let n_at_once = if *filter == EventFilter::default() { n_max } else { n_max.max(FILTERED) };
    let from = page.seen_to;
    while page.seen_to < page.last
        && (page.events.len() as u64) < n_max
        && page.seen_to - from < EVENTS_SEEN_MAX
    {
        let n_wanted = n_max - page.events.len() as u64;
        let (after, to) = (page.seen_to, page.last.min(page.seen_to + n_at_once));
        let mut folded = Vec::new();
        for stored in entries_from(tx, journal, after, to).await? {
            folded.extend(events_of(&stored, |number, _| (after + 1..=to).contains(&number))?);
        }
        if folded.len() as u64 != to - after {
            return Err(StoreError::corrupt("numbers are missing in the journal"));
        }
        let events = unfold(tx, journal.tenant(), folded).await?;
        let mut selected = events.into_iter().filter(|event| filter.is_met(event));
        page.events.extend(selected.by_ref().take(n_wanted as usize));
        // Where the page is full, the next one begins at the first event that has no place on it.
        page.seen_to = selected.next().map_or(to, |left| left.number - 1);
    }
    Ok(page)
}

/// The entries that have any of the numbers behind `after`, up to `to`.
async fn entries_from(
    tx: &Tx,
    journal: &Journal,
    after: u64,
    to: u64,
) -> Result<Vec<StoredEntry>, StoreError> {
    let sql = journal_sql!(
        journal.kind(),
        "SELECT " columns " FROM " entries " WHERE tenant = ?1 AND first <= ?3 AND first >= "
        "(SELECT MAX(first) FROM " entries " WHERE tenant = ?1 AND first <= ?2) ORDER BY first"
    );
    let values = [journal.key().into(), (after + 1).into(), to.into()];
    tx.rows(sql, &values, super::unfolding::read_entry).await
}

impl Event {
    /// The subject of the token whose request caused the event.
    fn caused_by(&self) -> Option<&str> {
        match &self.origin.as_ref()?.cause {
            Cause::Request(subject) | Cause::Check(subject) => Some(subject),
            _ => None,
        }
    }

    /// The Task that the event is about or comes from.
    pub fn task(&self) -> Option<TaskId> {
        match (&self.subject, self.origin.as_ref().map(|it| &it.cause)) {
            (EventSubject::Task(task), _) => Some(task.id),
            (_, Some(Cause::Task(id))) => Some(*id),
            _ => None,
        }
    }
}
