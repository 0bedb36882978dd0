//! Unfolding entries: an event for each access of a stretch, with what never changes of it read from its row.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use gatehouse_core::event::audit::{RefusalEntry, SetupEntry, TokenEntry};
use gatehouse_core::event::{
    AccessState, Cause, ChangedFields, Entry, EventType, Origin, Stretch, StretchItem, TaskEntry,
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
    pub origin: Option<Arc<Origin>>,
    /// The subject.
    pub subject: EventSubject,
}

/// The subject of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventSubject {
    /// An access.
    Access {
        /// The access as it is now, for what never changes of it.
        access: Arc<Access>,
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
    /// An object of the setup, before and after the change.
    Setup(SetupEntry),
    /// Issued tokens.
    Tokens(TokenEntry),
    /// A revoked token, by its identifier.
    TokenRevoke(String),
    /// Refused requests.
    Refusals(RefusalEntry),
}

/// A numbered entry.
pub(crate) struct StoredEntry {
    pub(crate) first: u64,
    pub(crate) n: u64,
    pub(crate) at: Timestamp,
    pub(crate) bytes: Vec<u8>,
    pub(crate) mac: Mac,
}

/// Reads the columns of an entry.
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
    origin: Option<Arc<Origin>>,
    subject: FoldedSubject,
}

enum FoldedSubject {
    Access { number: u64, state: AccessState, version: u64, changed: ChangedFields },
    Whole(EventSubject),
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
    let event_type = entry.event_type();
    let (subject, origin) = match entry {
        Entry::Accesses(stretch) => {
            let origins: Vec<Arc<Origin>> = stretch.origins.iter().cloned().map(Arc::new).collect();
            let items = (0..).zip(&stretch.items);
            let wanted = items.filter(|(n, item)| is_wanted(stored.first + n, Some(item.number)));
            let event = |(n, item)| event_of_access(stored, &stretch, &origins, (n, item));
            return Ok(wanted.map(event).collect());
        }
        Entry::Task(it) => (EventSubject::Task(it.clone()), Some(it.origin)),
        Entry::Start => (EventSubject::Journal, None),
        Entry::Setup(it) => (EventSubject::Setup(it.clone()), Some(it.origin)),
        Entry::Tokens(it) => (EventSubject::Tokens(it.clone()), Some(it.origin)),
        Entry::TokenRevoke(id, origin) => (EventSubject::TokenRevoke(id), Some(origin)),
        Entry::Refusals(it) => (EventSubject::Refusals(it.clone()), Some(it.origin)),
    };
    let event = FoldedEvent {
        number: stored.first,
        id: event_id(stored, 0),
        at: stored.at,
        event_type,
        origin: origin.map(Arc::new),
        subject: FoldedSubject::Whole(subject),
    };
    Ok(is_wanted(stored.first, None).then_some(event).into_iter().collect())
}

fn event_of_access(
    stored: &StoredEntry,
    stretch: &Stretch,
    origins: &[Arc<Origin>],
    (n, item): (u64, &StretchItem),
) -> FoldedEvent {
    let state = stretch.states[item.state].clone();
    let origin = Arc::clone(&origins[item.origin]);
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

/// Reads the accesses of events. The estate's have none.
pub(crate) async fn unfold(
    tx: &Tx,
    tenant: Option<&TenantName>,
    folded: Vec<FoldedEvent>,
) -> Result<Vec<Event>, StoreError> {
    let numbers: BTreeSet<u64> = folded
        .iter()
        .filter_map(|event| match event.subject {
            FoldedSubject::Access { number, .. } => Some(number),
            FoldedSubject::Whole(_) => None,
        })
        .collect();
    let accesses = match tenant {
        Some(tenant) if !numbers.is_empty() => {
            bulk::read_accesses(tx, tenant, numbers.into_iter().collect()).await?
        }
        _ => Vec::new(),
    };
    let accesses = accesses.into_iter().map(|(number, access)| (number, Arc::new(access)));
    let accesses: HashMap<u64, Arc<Access>> = accesses.collect();
    let events = folded.into_iter().map(|event| {
        let FoldedEvent { number, id, at, event_type, origin, subject } = event;
        let subject = match subject {
            FoldedSubject::Access { number, state, version, changed } => {
                let access = accesses.get(&number).cloned();
                let access =
                    access.ok_or_else(|| StoreError::corrupt("an event of an unknown access"))?;
                EventSubject::Access { access, state, version, changed }
            }
            FoldedSubject::Whole(subject) => subject,
        };
        Ok(Event { number, id, at, event_type, origin, subject })
    });
    events.collect()
}
