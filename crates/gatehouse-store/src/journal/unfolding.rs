//! Unfolding entries: an event for each access of a stretch, with what never changes of it read from its row.

use std::collections::{BTreeMap, BTreeSet};

use gatehouse_core::event::{
    AccessState, Cause, ChangedFields, Entry, EventType, Origin, Stretch, TaskEntry,
};
use gatehouse_core::{Access, EventId, Status, TenantName, Timestamp};

use super::chain::{self, Mac};
use crate::access::bulk;
use crate::db::{Row, Tx};
use crate::error::StoreError;

/// An event, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The event's number in its tenant's journal.
    pub number: u64,
    /// Identifier: the same at each reading.
    pub id: EventId,
    /// When it took effect.
    pub at: Timestamp,
    /// The kind of change.
    pub event_type: EventType,
    /// Where it comes from; `None` where the server itself is the cause.
    pub origin: Option<Origin>,
    /// The access or the Task that has changed.
    pub subject: EventSubject,
}

/// The access or the Task that an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventSubject {
    /// An access.
    Access {
        /// The access as it is now, for what never changes of it.
        access: Box<Access>,
        /// The known part of the access right after the change.
        state: AccessState,
        /// The access's version right after the change.
        version: u64,
        /// The fields that changed.
        changed: ChangedFields,
    },
    /// A Task, as it was right after the change.
    Task(TaskEntry),
    /// The journal itself.
    Journal,
}

/// A numbered entry.
pub(crate) struct StoredEntry {
    pub(crate) first: u64,
    pub(crate) n: u64,
    pub(crate) at: Timestamp,
    pub(crate) bytes: Vec<u8>,
    pub(crate) mac: Mac,
}

/// The columns of an entry, in the order that [`read_entry`] reads them.
macro_rules! entry_columns {
    () => {
        "first, n, at, entry, mac"
    };
}
pub(crate) use entry_columns;

pub(crate) fn read_entry(row: &Row<'_>) -> Result<StoredEntry, StoreError> {
    let mac = chain::mac_of(row.bytes_ref(4)?)?;
    let (first, n, at, bytes) = (row.count(0)?, row.count(1)?, row.time(2)?, row.bytes(3)?);
    Ok(StoredEntry { first, n, at, bytes, mac })
}

/// An event whose access isn't read yet.
pub(crate) struct FoldedEvent {
    pub(crate) number: u64,
    id: EventId,
    at: Timestamp,
    event_type: EventType,
    origin: Option<Origin>,
    subject: FoldedSubject,
}

enum FoldedSubject {
    Access { number: u64, state: AccessState, version: u64, changed: ChangedFields },
    Task(TaskEntry),
    Journal,
}

/// The events of an entry that are wanted: by number, and by the running number of their access.
pub(crate) fn events_of(
    stored: &StoredEntry,
    is_wanted: impl Fn(u64, Option<u64>) -> bool,
) -> Result<Vec<FoldedEvent>, StoreError> {
    let entry = Entry::decode(&stored.bytes).map_err(StoreError::corrupt)?;
    if entry.n_events() != stored.n {
        return Err(StoreError::corrupt("an entry of the journal has more or fewer events"));
    }
    let one = |subject: FoldedSubject, event_type, origin| FoldedEvent {
        number: stored.first,
        id: event_id(stored, 0),
        at: stored.at,
        event_type,
        origin,
        subject,
    };
    let is_wanted_one = is_wanted(stored.first, None);
    Ok(match entry {
        Entry::Accesses(stretch) => (0..)
            .zip(&stretch.items)
            .filter(|(n, item)| is_wanted(stored.first + n, Some(item.number)))
            .map(|(n, _)| event_of_access(stored, &stretch, n))
            .collect(),
        Entry::Task(task) if is_wanted_one => {
            let origin = Some(task.origin.clone());
            vec![one(FoldedSubject::Task(task), EventType::TaskStateChange, origin)]
        }
        Entry::Start if is_wanted_one => {
            vec![one(FoldedSubject::Journal, EventType::JournalStart, None)]
        }
        Entry::Task(_) | Entry::Start => Vec::new(),
    })
}

fn event_of_access(stored: &StoredEntry, stretch: &Stretch, n: u64) -> FoldedEvent {
    let item = &stretch.items[n as usize];
    let state = stretch.states[item.state].clone();
    let origin = stretch.origins[item.origin].clone();
    // An end takes effect when it comes, though it is stored later.
    let ended_at = match (&origin.cause, state.status, state.end) {
        (Cause::Expiry, Some(Status::Terminated), Some(Some(end))) => Some(end),
        _ => None,
    };
    FoldedEvent {
        number: stored.first + n,
        id: event_id(stored, n),
        at: ended_at.unwrap_or(stored.at),
        event_type: stretch.event_type,
        origin: Some(origin),
        subject: FoldedSubject::Access {
            number: item.number,
            state,
            version: item.version,
            changed: stretch.changed,
        },
    }
}

fn event_id(stored: &StoredEntry, position: u64) -> EventId {
    EventId::in_entry(stored.at.unix_milliseconds(), &stored.mac, position)
}

/// Reads the accesses of events.
pub(crate) async fn unfold(
    tx: &Tx,
    tenant: &TenantName,
    folded: Vec<FoldedEvent>,
) -> Result<Vec<Event>, StoreError> {
    let numbers: BTreeSet<u64> = folded
        .iter()
        .filter_map(|event| match event.subject {
            FoldedSubject::Access { number, .. } => Some(number),
            FoldedSubject::Task(_) | FoldedSubject::Journal => None,
        })
        .collect();
    let accesses = bulk::read_accesses(tx, tenant, numbers.into_iter().collect()).await?;
    let accesses: BTreeMap<u64, Access> = accesses.into_iter().collect();
    let events = folded.into_iter().map(|event| {
        let FoldedEvent { number, id, at, event_type, origin, subject } = event;
        let subject = match subject {
            FoldedSubject::Access { number, state, version, changed } => {
                let access = accesses.get(&number);
                let access = access
                    .ok_or_else(|| StoreError::corrupt("an event of an unknown access"))?
                    .clone();
                EventSubject::Access { access: Box::new(access), state, version, changed }
            }
            FoldedSubject::Task(task) => EventSubject::Task(task),
            FoldedSubject::Journal => EventSubject::Journal,
        };
        Ok(Event { number, id, at, event_type, origin, subject })
    });
    events.collect()
}
