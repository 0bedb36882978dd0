//! An access: who may connect, under which contract, and for how long.
//!
//! An access has no password here: the secret is shown once by what makes or rotates it and is
//! unknown afterwards, and a type that can't hold it can't leak it.

use crate::ids::{AccessId, ContractId, DeviceName, OfferingId, TaskId, Username};
use crate::time::Timestamp;

/// Where an access is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Waits for its first connection (prepaid only).
    PendingActive,
    /// May connect.
    Active,
    /// May not connect for now.
    Suspended,
    /// May connect until its planned end.
    PendingTerminate,
    /// Over, for ever.
    Terminated,
}

impl Status {
    /// Every status, in the order of a life.
    pub const ALL: [Self; 5] = [
        Self::PendingActive,
        Self::Active,
        Self::Suspended,
        Self::PendingTerminate,
        Self::Terminated,
    ];

    /// The word on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PendingActive => "PENDING_ACTIVE",
            Self::Active => "ACTIVE",
            Self::Suspended => "SUSPENDED",
            Self::PendingTerminate => "PENDING_TERMINATE",
            Self::Terminated => "TERMINATED",
        }
    }

    /// The status that this word names.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }
}

/// A termination that has a date and can still be called off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedTermination {
    /// The end that the access had before, and gets back.
    pub end_before: Option<Timestamp>,
}

/// An access as it was last written; [`crate::lifecycle::at`] says what it is by now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Its identifier.
    pub id: AccessId,
    /// The contract it belongs to, for ever.
    pub contract_id: ContractId,
    /// The contract's offering when it was made, for ever.
    pub offering_id: OfferingId,
    /// What its device connects with.
    pub username: Username,
    /// The device's name, where one was given.
    pub device_name: Option<DeviceName>,
    /// Where it is in its life.
    pub status: Status,
    /// From when it may connect.
    pub start: Timestamp,
    /// From when it may no longer connect.
    pub end: Option<Timestamp>,
    /// The task that made it, unless it was made alone.
    pub created_by: Option<TaskId>,
    /// When it was made, by the database's clock.
    pub created_at: Timestamp,
    /// When a prepaid access was first used, which started its validity.
    pub first_connected_at: Option<Timestamp>,
    /// The termination that is planned for its end, if one is.
    pub termination: Option<PlannedTermination>,
    /// Rises with every change.
    pub version: u64,
}

/// All that answers show of an access, where it lies: in an [`Access`], or in a row on its way out. Texts, since what was
/// checked when it was written is only passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownAccess<'a> {
    /// Its identifier.
    pub id: AccessId,
    /// The contract it belongs to, for ever.
    pub contract_id: &'a str,
    /// The contract's offering when it was made, for ever.
    pub offering_id: &'a str,
    /// What its device connects with.
    pub username: &'a str,
    /// The device's name, where one was given.
    pub device_name: Option<&'a str>,
    /// Where it is in its life.
    pub status: Status,
    /// From when it may connect.
    pub start: Timestamp,
    /// From when it may no longer connect.
    pub end: Option<Timestamp>,
    /// The task that made it, unless it was made alone.
    pub created_by: Option<TaskId>,
}

impl<'a> ShownAccess<'a> {
    /// Its name: the device's, or else the username.
    pub fn name(&self) -> &'a str {
        self.device_name.unwrap_or(self.username)
    }
}

impl Access {
    /// Its name: the device's, or else the username.
    pub fn name(&self) -> &str {
        self.shown().name()
    }

    /// What answers show of it.
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
        }
    }
}
