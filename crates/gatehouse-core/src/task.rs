//! A Task: a batch that was accepted, and how far it has come.
//!
//! ```text
//!   ACKNOWLEDGED ──► IN_PROGRESS ──► DONE | FAILED
//!        │    └──► REJECTED   └──► TERMINATED
//!        └──► TERMINATED
//! ```

use crate::batch_failure::BatchFailure;
use crate::ids::{AccessId, ContractId, TaskId};
use crate::lifecycle::TargetStatus;
use crate::time::Timestamp;

/// Where a Task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskState {
    /// Accepted, not begun.
    Acknowledged,
    /// Under way.
    InProgress,
    /// Over: every item succeeded.
    Done,
    /// Over: some items failed, perhaps all.
    Failed,
    /// Refused before anything was done.
    Rejected,
    /// Stopped by somebody.
    Terminated,
}

impl TaskState {
    /// Every state.
    pub const ALL: [Self; 6] = [
        Self::Acknowledged,
        Self::InProgress,
        Self::Done,
        Self::Failed,
        Self::Rejected,
        Self::Terminated,
    ];

    /// The word on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Acknowledged => "ACKNOWLEDGED",
            Self::InProgress => "IN_PROGRESS",
            Self::Done => "DONE",
            Self::Failed => "FAILED",
            Self::Rejected => "REJECTED",
            Self::Terminated => "TERMINATED",
        }
    }

    /// The state that this word names.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Whether nothing follows it.
    pub fn is_terminal(self) -> bool {
        !matches!(self, Self::Acknowledged | Self::InProgress)
    }

    /// Whether the other state may follow this one.
    pub fn may_become(self, next: Self) -> bool {
        match self {
            Self::Acknowledged => {
                matches!(next, Self::InProgress | Self::Rejected | Self::Terminated)
            }
            Self::InProgress => matches!(next, Self::Done | Self::Failed | Self::Terminated),
            Self::Done | Self::Failed | Self::Rejected | Self::Terminated => false,
        }
    }
}

/// What a Task is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskWork {
    /// Make accesses.
    Creation {
        /// Under this contract.
        contract_id: ContractId,
        /// Whether the client says something about each of them, or only how many it wants.
        is_explicit: bool,
    },
    /// Change accesses.
    Update {
        /// The status that they are to have.
        target: Option<TargetStatus>,
        /// Whether they are to have another password.
        sets_password: bool,
    },
    /// Plan the end of accesses.
    Termination,
}

impl TaskWork {
    /// The word on the wire and in the database.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Creation { .. } => CREATION,
            Self::Update { .. } => UPDATE,
            Self::Termination => TERMINATION,
        }
    }

    /// Whether it makes or sets passwords, which the Task then shows for a while.
    pub fn has_passwords(&self) -> bool {
        match self {
            Self::Creation { .. } => true,
            Self::Update { sets_password, .. } => *sets_password,
            Self::Termination => false,
        }
    }
}

/// The word for making accesses.
pub const CREATION: &str = "batchCreation";
/// The word for changing them.
pub const UPDATE: &str = "batchUpdate";
/// The word for planning their end.
pub const TERMINATION: &str = "batchTerminate";

/// A Task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its identifier.
    pub id: TaskId,
    /// What it is to do.
    pub work: TaskWork,
    /// Where it is.
    pub state: TaskState,
    /// How many items it has.
    pub n_items: u32,
    /// How many of them succeeded.
    pub n_succeeded: u32,
    /// How many of them failed.
    pub n_failed: u32,
    /// When it was accepted.
    pub accepted_at: Timestamp,
    /// When it was begun, where it was.
    pub started_at: Option<Timestamp>,
    /// When it was over, where it is.
    pub ended_at: Option<Timestamp>,
    /// Until when it may show passwords; known when it is over.
    pub shows_secrets_until: Option<Timestamp>,
    /// The request that it came with.
    pub correlation_id: String,
}

impl Task {
    /// How many items are behind it; also the ordinal of the next one.
    pub fn n_processed(&self) -> u32 {
        self.n_succeeded + self.n_failed
    }

    /// How many items are before it.
    pub fn n_left(&self) -> u32 {
        self.n_items - self.n_processed()
    }

    /// Whether it may show passwords now.
    pub fn shows_secrets(&self, now: Timestamp) -> bool {
        self.shows_secrets_until.is_some_and(|until| now < until)
    }
}

/// What an item that failed was about, as far as the request named it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemReference {
    /// The access that was to be changed.
    pub access_id: Option<String>,
    /// The username that was asked for.
    pub username: Option<String>,
    /// The device's name that was asked for.
    pub device_name: Option<String>,
}

impl ItemReference {
    /// An item that names an access.
    pub fn of_access(id: AccessId) -> Self {
        Self { access_id: Some(id.to_string()), ..Self::default() }
    }
}

/// An item that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedItem {
    /// Its place among the Task's items, from 0.
    pub ordinal: u32,
    /// Its position in the request, from 0; others where an identifier was repeated.
    pub index: u32,
    /// What it was about.
    pub name: ItemReference,
    /// What went wrong.
    pub trouble: BatchFailure,
}

#[cfg(test)]
mod tests;
