//! Events: what changed, when, and from where.
//!
//! An event shows an access or a Task as it was right after a change. Most fields of an access never change and are
//! read from its row; an event keeps the others. A journal entry can stand for a stretch: accesses that changed alike in
//! one transaction, such as those that a batch creates. The store unfolds an entry when it reads the entry.

pub mod audit;
pub mod encoding;
pub mod hub;

use self::audit::{RefusalEntry, SetupEntry, TokenEntry};
use crate::access::{Access, Status};
use crate::ids::TaskId;
use crate::label::Labels;
use crate::task::{Task, TaskState};
use crate::time::Timestamp;

/// Kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventType {
    /// An access was created.
    AccessCreate,
    /// Something other than the status of an access changed.
    AccessAttributeValueChange,
    /// The status of an access changed.
    AccessStateChange,
    /// The state of a Task changed.
    TaskStateChange,
    /// The journal begins: earlier changes have no events.
    JournalStart,
    /// A tenant was made.
    TenantCreate,
    /// A tenant was changed.
    TenantAttributeValueChange,
    /// A tenant was deleted.
    TenantDelete,
    /// A contract was made.
    ContractCreate,
    /// A contract was changed.
    ContractAttributeValueChange,
    /// A contract was deleted.
    ContractDelete,
    /// An account was made.
    AccountCreate,
    /// An account was changed.
    AccountAttributeValueChange,
    /// An account was deleted.
    AccountDelete,
    /// A client was made.
    ClientCreate,
    /// A client was changed.
    ClientAttributeValueChange,
    /// A client was deleted.
    ClientDelete,
    /// A hub was made.
    HubCreate,
    /// A hub was changed.
    HubAttributeValueChange,
    /// A hub was deleted.
    HubDelete,
    /// A hook was made.
    HookCreate,
    /// A hook was changed.
    HookAttributeValueChange,
    /// A hook was deleted.
    HookDelete,
    /// A token was issued.
    TokenIssue,
    /// A token was revoked.
    TokenRevoke,
    /// Requests were refused.
    Refusal,
}

impl EventType {
    /// Types of a tenant's changes.
    pub const CHANGES: [Self; 5] = [
        Self::AccessCreate,
        Self::AccessAttributeValueChange,
        Self::AccessStateChange,
        Self::TaskStateChange,
        Self::JournalStart,
    ];

    /// Types of the audit.
    pub const AUDIT: [Self; 22] = [
        Self::TenantCreate,
        Self::TenantAttributeValueChange,
        Self::TenantDelete,
        Self::ContractCreate,
        Self::ContractAttributeValueChange,
        Self::ContractDelete,
        Self::AccountCreate,
        Self::AccountAttributeValueChange,
        Self::AccountDelete,
        Self::ClientCreate,
        Self::ClientAttributeValueChange,
        Self::ClientDelete,
        Self::HubCreate,
        Self::HubAttributeValueChange,
        Self::HubDelete,
        Self::HookCreate,
        Self::HookAttributeValueChange,
        Self::HookDelete,
        Self::TokenIssue,
        Self::TokenRevoke,
        Self::Refusal,
        Self::JournalStart,
    ];

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AccessCreate => "AccessCreateEvent",
            Self::AccessAttributeValueChange => "AccessAttributeValueChangeEvent",
            Self::AccessStateChange => "AccessStateChangeEvent",
            Self::TaskStateChange => "TaskStateChangeEvent",
            Self::JournalStart => "JournalStartEvent",
            Self::TenantCreate => "TenantCreateEvent",
            Self::TenantAttributeValueChange => "TenantAttributeValueChangeEvent",
            Self::TenantDelete => "TenantDeleteEvent",
            Self::ContractCreate => "ContractCreateEvent",
            Self::ContractAttributeValueChange => "ContractAttributeValueChangeEvent",
            Self::ContractDelete => "ContractDeleteEvent",
            Self::AccountCreate => "AccountCreateEvent",
            Self::AccountAttributeValueChange => "AccountAttributeValueChangeEvent",
            Self::AccountDelete => "AccountDeleteEvent",
            Self::ClientCreate => "ClientCreateEvent",
            Self::ClientAttributeValueChange => "ClientAttributeValueChangeEvent",
            Self::ClientDelete => "ClientDeleteEvent",
            Self::HubCreate => "HubCreateEvent",
            Self::HubAttributeValueChange => "HubAttributeValueChangeEvent",
            Self::HubDelete => "HubDeleteEvent",
            Self::HookCreate => "HookCreateEvent",
            Self::HookAttributeValueChange => "HookAttributeValueChangeEvent",
            Self::HookDelete => "HookDeleteEvent",
            Self::TokenIssue => "TokenIssueEvent",
            Self::TokenRevoke => "TokenRevokeEvent",
            Self::Refusal => "RefusalEvent",
        }
    }
}

/// Where a change comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// A client's request, with the subject of its token.
    Request(String),
    /// A Task.
    Task(TaskId),
    /// The end of the access.
    Expiry,
    /// The first connection of a device: a successful check of its credentials, asked for by this subject.
    Check(String),
    /// The server itself.
    Server,
    /// A command of an operator on the server's machine.
    Command,
}

/// Where a change comes from, and how its request is found in logs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// The cause of the change.
    pub cause: Cause,
    /// Correlation ID of the request that led to it; empty where none did.
    pub correlation_id: String,
    /// Address that the request came from; empty where none did.
    pub peer: String,
}

impl Origin {
    /// An origin without a request.
    pub fn of(cause: Cause) -> Self {
        Self { cause, correlation_id: String::new(), peer: String::new() }
    }

    /// The origin of what a check does, from that of its request.
    pub fn of_check(self) -> Self {
        match self.cause {
            Cause::Request(subject) => Self { cause: Cause::Check(subject), ..self },
            _ => self,
        }
    }

    /// The origin of what a Task does.
    pub fn of_task(task: &Task) -> Self {
        let correlation_id = task.correlation_id.clone();
        Self { correlation_id, ..Self::of(Cause::Task(task.id)) }
    }
}

/// A part of an access that a change may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangedField {
    /// The status.
    Status = 1,
    /// The start of the active period.
    Start = 2,
    /// The end of the active period.
    End = 4,
    /// The labels.
    Labels = 8,
    /// The password.
    Password = 16,
    /// The first connection of a prepaid access.
    FirstConnection = 32,
    /// The planned termination.
    Termination = 64,
}

impl ChangedField {
    /// Every field.
    pub const ALL: [Self; 7] = [
        Self::Status,
        Self::Start,
        Self::End,
        Self::Labels,
        Self::Password,
        Self::FirstConnection,
        Self::Termination,
    ];

    /// Whether a change of the status often changes this field as well, as part of it.
    fn goes_with_status(self) -> bool {
        matches!(self, Self::Status | Self::Start | Self::End | Self::Termination)
    }

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Start => "startDateTime",
            Self::End => "endDateTime",
            Self::Labels => "labels",
            Self::Password => "password",
            Self::FirstConnection => "firstConnection",
            Self::Termination => "plannedTermination",
        }
    }
}

/// Fields that changed together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChangedFields(u8);

impl ChangedFields {
    /// The fields that differ between two states of an access. The password is no part of a state.
    pub fn between(before: &Access, after: &Access, has_new_password: bool) -> Self {
        let mut changed = Self::default();
        let differs = [
            (ChangedField::Status, before.status != after.status),
            (ChangedField::Start, before.start != after.start),
            (ChangedField::End, before.end != after.end),
            (ChangedField::Labels, before.labels != after.labels),
            (ChangedField::Password, has_new_password),
            (ChangedField::FirstConnection, before.first_connected_at != after.first_connected_at),
            (ChangedField::Termination, before.termination != after.termination),
        ];
        for (field, _) in differs.into_iter().filter(|(_, differs)| *differs) {
            changed.0 |= field as u8;
        }
        changed
    }

    /// Whether a field is among them.
    pub fn have(self, field: ChangedField) -> bool {
        self.0 & field as u8 != 0
    }

    /// The fields, in order.
    pub fn iter(self) -> impl Iterator<Item = ChangedField> {
        ChangedField::ALL.into_iter().filter(move |field| self.have(*field))
    }

    /// The types of the events that show a change of these fields.
    pub fn event_types(self) -> impl Iterator<Item = EventType> {
        let has_status = self.have(ChangedField::Status);
        let has_others = self.iter().any(|field| !field.goes_with_status());
        [
            (EventType::AccessAttributeValueChange, has_others || (!has_status && self.0 != 0)),
            (EventType::AccessStateChange, has_status),
        ]
        .into_iter()
        .filter_map(|(event_type, is_shown)| is_shown.then_some(event_type))
    }
}

/// The part of an access that an event keeps: all that is shown and can change. A folded entry keeps only what changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccessState {
    /// The status.
    pub status: Option<Status>,
    /// The start of the active period.
    pub start: Option<Timestamp>,
    /// The end of the active period; `Some(None)` for an access without an end.
    pub end: Option<Option<Timestamp>>,
    /// The labels.
    pub labels: Option<Labels>,
}

impl AccessState {
    /// All that is shown of an access and can change.
    pub fn of(access: &Access) -> Self {
        Self {
            status: Some(access.status),
            start: Some(access.start),
            end: Some(access.end),
            labels: Some(access.labels.clone()),
        }
    }

    /// The fields that a change has set.
    pub fn changed(access: &Access, changed: ChangedFields) -> Self {
        let all = Self::of(access);
        Self {
            status: all.status.filter(|_| changed.have(ChangedField::Status)),
            start: all.start.filter(|_| changed.have(ChangedField::Start)),
            end: all.end.filter(|_| changed.have(ChangedField::End)),
            labels: all.labels.filter(|_| changed.have(ChangedField::Labels)),
        }
    }
}

/// One access of a stretch, right after its change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StretchItem {
    /// The access's running number in its tenant.
    pub number: u64,
    /// The access's version.
    pub version: u64,
    /// The kept part of the access: a position among the stretch's states.
    pub state: usize,
    /// Where the change comes from: a position among the stretch's origins.
    pub origin: usize,
}

/// Accesses that changed in the same way, in one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The kind of change.
    pub event_type: EventType,
    /// The fields that changed.
    pub changed: ChangedFields,
    /// Different states that accesses have after the change.
    pub states: Vec<AccessState>,
    /// Different origins.
    pub origins: Vec<Origin>,
    /// The accesses, in the order of their numbers.
    pub items: Vec<StretchItem>,
}

/// A Task right after its state changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskEntry {
    /// The Task.
    pub id: TaskId,
    /// The word for its work.
    pub work: String,
    /// Its new state.
    pub state: TaskState,
    /// Number of items.
    pub n_items: u32,
    /// Items that succeeded.
    pub n_succeeded: u32,
    /// Items that failed.
    pub n_failed: u32,
    /// Where the change comes from.
    pub origin: Origin,
}

impl TaskEntry {
    /// A Task as it is now.
    pub fn of(task: &Task, origin: Origin) -> Self {
        Self {
            id: task.id,
            work: task.work.as_str().to_owned(),
            state: task.state,
            n_items: task.n_items,
            n_succeeded: task.n_succeeded,
            n_failed: task.n_failed,
            origin,
        }
    }
}

/// One entry of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Changed accesses: an event for each.
    Accesses(Stretch),
    /// The new state of a Task.
    Task(TaskEntry),
    /// The journal begins.
    Start,
    /// A changed object of the setup.
    Setup(SetupEntry),
    /// Issued tokens.
    Tokens(TokenEntry),
    /// A revoked token, by its identifier.
    TokenRevoke(String, Origin),
    /// Refused requests.
    Refusals(RefusalEntry),
}

impl Entry {
    /// Number of events.
    pub fn n_events(&self) -> u64 {
        match self {
            Self::Accesses(stretch) => stretch.items.len() as u64,
            _ => 1,
        }
    }

    /// The kind of change.
    pub fn event_type(&self) -> EventType {
        match self {
            Self::Accesses(stretch) => stretch.event_type,
            Self::Task(_) => EventType::TaskStateChange,
            Self::Start => EventType::JournalStart,
            Self::Setup(entry) => entry.event_type(),
            Self::Tokens(_) => EventType::TokenIssue,
            Self::TokenRevoke(..) => EventType::TokenRevoke,
            Self::Refusals(_) => EventType::Refusal,
        }
    }
}
