//! A Task: an accepted batch, and its progress.
//!
//! ```text
//!   ACKNOWLEDGED ──► IN_PROGRESS ──► DONE | FAILED
//!        │    └──► REJECTED   └──► TERMINATED
//!        └──► TERMINATED
//! ```

use crate::batch_failure::BatchFailure;
use crate::ids::{AccessId, ContractId, TaskId};
use crate::label::{LabelPatch, Labels};
use crate::lifecycle::TargetStatus;
use crate::time::Timestamp;

/// State of a Task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskState {
    /// Accepted, not started.
    Acknowledged,
    /// Running.
    InProgress,
    /// Ended: every item succeeded.
    Done,
    /// Ended: some items failed, perhaps all.
    Failed,
    /// Refused before any item was processed.
    Rejected,
    /// Stopped by a client or an operator.
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

    /// The state with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Whether the state is final.
    pub fn is_terminal(self) -> bool {
        !matches!(self, Self::Acknowledged | Self::InProgress)
    }

    /// Whether `next` may follow this state.
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

/// Work of a Task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskWork {
    /// Create accesses.
    Creation {
        /// Contract of the new accesses.
        contract_id: ContractId,
        /// Whether the client describes each access, or only gives their number.
        is_explicit: bool,
        /// Labels of accesses that the client only gives the number of.
        labels: Labels,
    },
    /// Change accesses.
    Update {
        /// The new status.
        target: Option<TargetStatus>,
        /// The accesses' new passwords.
        passwords: NewPasswords,
        /// Changed labels; empty to change none.
        labels: LabelPatch,
    },
    /// Plan the termination of accesses.
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

    /// Whether the work makes or sets passwords, which the Task then shows for a while.
    pub fn has_passwords(&self) -> bool {
        match self {
            Self::Creation { .. } => true,
            Self::Update { passwords, .. } => *passwords != NewPasswords::None,
            Self::Termination => false,
        }
    }
}

/// The passwords that an update sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewPasswords {
    /// None: the accesses keep theirs.
    None,
    /// One for all accesses, which the client chose.
    Chosen,
    /// One for each access, which the server generates.
    Generated,
}

/// The word for creating accesses.
pub const CREATION: &str = "batchCreation";
/// The word for updating accesses.
pub const UPDATE: &str = "batchUpdate";
/// The word for planning the termination of accesses.
pub const TERMINATION: &str = "batchTerminate";

/// A Task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The Task's identifier.
    pub id: TaskId,
    /// The work.
    pub work: TaskWork,
    /// The state.
    pub state: TaskState,
    /// Number of items.
    pub n_items: u32,
    /// Items that succeeded.
    pub n_succeeded: u32,
    /// Items that failed.
    pub n_failed: u32,
    /// Time of acceptance.
    pub accepted_at: Timestamp,
    /// Time of the start, once started.
    pub started_at: Option<Timestamp>,
    /// Time of the end, once ended.
    pub ended_at: Option<Timestamp>,
    /// Time until which the Task may show passwords; known once it has ended.
    pub shows_secrets_until: Option<Timestamp>,
    /// Correlation ID of the request that created the Task.
    pub correlation_id: String,
}

impl Task {
    /// Number of processed items; also the ordinal of the next one.
    pub fn n_processed(&self) -> u32 {
        self.n_succeeded + self.n_failed
    }

    /// Number of items that remain.
    pub fn n_left(&self) -> u32 {
        self.n_items - self.n_processed()
    }

    /// Whether the Task may show passwords now.
    pub fn shows_secrets(&self, now: Timestamp) -> bool {
        self.shows_secrets_until.is_some_and(|until| now < until)
    }
}

/// Object of a failed item, as far as the request named it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemReference {
    /// The access to change.
    pub access_id: Option<String>,
    /// The requested username.
    pub username: Option<String>,
    /// The requested device name.
    pub device_name: Option<String>,
}

impl ItemReference {
    /// Refers to an access.
    pub fn of_access(id: AccessId) -> Self {
        Self { access_id: Some(id.to_string()), ..Self::default() }
    }
}

/// An item that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedItem {
    /// Position among the Task's items, from 0.
    pub ordinal: u32,
    /// Position in the request, from 0; higher than the ordinal after a repeated identifier.
    pub index: u32,
    /// The item's object.
    pub name: ItemReference,
    /// The failure.
    pub failure: BatchFailure,
}

#[cfg(test)]
mod tests;
