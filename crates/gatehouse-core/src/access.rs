//! An access: a device's right to connect, under which contract, and for how long.
//!
//! An access has no password here: the client that creates or rotates it sees the password once. A type that can't hold
//! the password can't leak it.

use crate::ids::{AccessId, ContractId, DeviceName, OfferingId, TaskId, Username};
use crate::label::{Labels, ShownLabels};
use crate::time::Timestamp;

/// Lifecycle status of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Waits for its first connection (prepaid only).
    PendingActive,
    /// May connect.
    Active,
    /// May not connect for now.
    Suspended,
    /// May connect until its planned end.
    PendingTerminate,
    /// Ended, for ever.
    Terminated,
}

impl Status {
    /// Every status, in lifecycle order.
    pub const ALL: [Self; 5] = [
        Self::PendingActive,
        Self::Active,
        Self::Suspended,
        Self::PendingTerminate,
        Self::Terminated,
    ];

    /// The words of all statuses, in lifecycle order.
    pub const WORDS: [&str; 5] = {
        let [a, b, c, d, e] = Self::ALL;
        [a.as_str(), b.as_str(), c.as_str(), d.as_str(), e.as_str()]
    };

    /// The word on the wire and in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PendingActive => "PENDING_ACTIVE",
            Self::Active => "ACTIVE",
            Self::Suspended => "SUSPENDED",
            Self::PendingTerminate => "PENDING_TERMINATE",
            Self::Terminated => "TERMINATED",
        }
    }

    /// The status with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }
}

/// A planned termination, which a client can still cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedTermination {
    /// The end that the access had before, and gets back when the termination is cancelled.
    pub end_before: Option<Timestamp>,
}

/// An access as it was last stored; [`crate::lifecycle::at`] gives its state at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The access's identifier.
    pub id: AccessId,
    /// The contract that the access belongs to, for ever.
    pub contract_id: ContractId,
    /// The contract's offering when the access was created, for ever.
    pub offering_id: OfferingId,
    /// The username that the device connects with.
    pub username: Username,
    /// The device's name, if the client gave one.
    pub device_name: Option<DeviceName>,
    /// The stored lifecycle status.
    pub status: Status,
    /// Start of the active period.
    pub start: Timestamp,
    /// End of the active period.
    pub end: Option<Timestamp>,
    /// The Task that created the access; `None` for a single creation.
    pub created_by: Option<TaskId>,
    /// Creation time, by the database's clock.
    pub created_at: Timestamp,
    /// First connection of a prepaid access, which started its validity.
    pub first_connected_at: Option<Timestamp>,
    /// The termination that is planned for `end`, if any.
    pub termination: Option<PlannedTermination>,
    /// Number of changes so far, plus one.
    pub version: u64,
    /// The labels.
    pub labels: Labels,
}

/// The part of an access that responses show, borrowed from an [`Access`] or a database row. Texts are not parsed
/// again, because they were checked when they were stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownAccess<'a> {
    /// The access's identifier.
    pub id: AccessId,
    /// The contract that the access belongs to.
    pub contract_id: &'a str,
    /// The contract's offering when the access was created.
    pub offering_id: &'a str,
    /// The username that the device connects with.
    pub username: &'a str,
    /// The device's name, if the client gave one.
    pub device_name: Option<&'a str>,
    /// The lifecycle status.
    pub status: Status,
    /// Start of the active period.
    pub start: Timestamp,
    /// End of the active period.
    pub end: Option<Timestamp>,
    /// The Task that created the access; `None` for a single creation.
    pub created_by: Option<TaskId>,
    /// The labels.
    pub labels: ShownLabels<'a>,
}

impl<'a> ShownAccess<'a> {
    /// Display name: the device's name, or else the username.
    pub fn name(&self) -> &'a str {
        self.device_name.unwrap_or(self.username)
    }
}

impl Access {
    /// Display name: the device's name, or else the username.
    pub fn name(&self) -> &str {
        self.shown().name()
    }

    /// The part that responses show.
    pub fn shown(&self) -> ShownAccess<'_> {
        ShownAccess {
            id: self.id,
            contract_id: self.contract_id.as_str(),
            offering_id: self.offering_id.as_str(),
            username: self.username.as_str(),
            device_name: self.device_name.as_ref().map(DeviceName::as_str),
            status: self.status,
            start: self.start,
            end: self.end,
            created_by: self.created_by,
            labels: self.labels.shown(),
        }
    }
}
