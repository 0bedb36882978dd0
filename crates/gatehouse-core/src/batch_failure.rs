//! A partial failure as a value: why one item of a batch failed, or why a whole batch was rejected.
//!
//! A failure is stored with the Task and shown long after, so it holds finished texts. Its kind decides the problem
//! type of the HTTP response.

use crate::ids::{ContractId, Username};
use crate::lifecycle::StateConflict;

/// Kind of failure: one for each that a client would treat differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BatchFailureKind {
    /// The tenant has no such contract.
    UnknownContract,
    /// The tenant has no such access.
    NotFound,
    /// Another access has, or had, the username.
    UsernameTaken,
    /// A value is out of bounds.
    OutOfBounds,
    /// The access is terminated.
    AccessTerminated,
    /// The contract is suspended.
    ContractSuspended,
    /// The contract has ended.
    ContractEnded,
    /// The contract has not started.
    ContractNotStarted,
    /// The contract's quota is used up.
    QuotaReached,
    /// The access's contract is not pay-per-use.
    NotPayPerUse,
    /// The access would have too many labels.
    TooManyLabels,
}

impl BatchFailureKind {
    /// Every kind.
    pub const ALL: [Self; 11] = [
        Self::UnknownContract,
        Self::NotFound,
        Self::UsernameTaken,
        Self::OutOfBounds,
        Self::AccessTerminated,
        Self::ContractSuspended,
        Self::ContractEnded,
        Self::ContractNotStarted,
        Self::QuotaReached,
        Self::NotPayPerUse,
        Self::TooManyLabels,
    ];

    /// The word in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnknownContract => "unknown_contract",
            Self::NotFound => "not_found",
            Self::UsernameTaken => "username_taken",
            Self::OutOfBounds => "out_of_bounds",
            Self::AccessTerminated => "access_terminated",
            Self::ContractSuspended => "contract_suspended",
            Self::ContractEnded => "contract_ended",
            Self::ContractNotStarted => "contract_not_started",
            Self::QuotaReached => "quota_reached",
            Self::NotPayPerUse => "not_pay_per_use",
            Self::TooManyLabels => "too_many_labels",
        }
    }

    /// The kind with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

impl From<&StateConflict> for BatchFailureKind {
    fn from(conflict: &StateConflict) -> Self {
        match conflict {
            StateConflict::AccessTerminated => Self::AccessTerminated,
            StateConflict::ContractSuspended => Self::ContractSuspended,
            StateConflict::ContractEnded => Self::ContractEnded,
            StateConflict::ContractNotStarted(_) => Self::ContractNotStarted,
            StateConflict::QuotaReached(_) | StateConflict::BatchOverQuota { .. } => {
                Self::QuotaReached
            }
            StateConflict::NotPayPerUse => Self::NotPayPerUse,
            StateConflict::TooManyLabels(_) => Self::TooManyLabels,
        }
    }
}

/// Why an item or a batch was not processed, in words for the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchFailure {
    /// The kind of failure.
    pub kind: BatchFailureKind,
    /// Text that says what was wrong, and what would be right.
    pub detail: String,
    /// The fields at fault, each with what would be right.
    pub fields: Vec<FieldFault>,
}

impl BatchFailure {
    /// The tenant has no such contract.
    pub fn unknown_contract(id: &ContractId) -> Self {
        let detail = format!("the tenant has no contract `{id}`");
        let field = FieldFault { name: "contractId".into(), reason: detail.clone() };
        Self { kind: BatchFailureKind::UnknownContract, detail, fields: vec![field] }
    }

    /// The tenant has no such access, or the access is another tenant's: clients must not learn which.
    pub fn no_access(id: &str) -> Self {
        Self::new(BatchFailureKind::NotFound, format!("there is no access `{id}`"))
    }

    /// None of the accesses that a batch names belongs to the tenant, or none matches its filter.
    pub fn no_access_at_all(n_named: u32) -> Self {
        let detail = match n_named {
            0 => "no access matches the filter".into(),
            1 => "the one access that the batch names is not an access of this tenant".into(),
            n => format!("none of the {n} accesses that the batch names is one of this tenant"),
        };
        Self::new(BatchFailureKind::NotFound, detail)
    }

    /// Another access has this username.
    pub fn username_taken(username: &Username) -> Self {
        let detail = format!("username `{username}` is taken by another access");
        Self::new(BatchFailureKind::UsernameTaken, detail)
    }

    /// The present state doesn't allow the change.
    pub fn refused(conflict: &StateConflict) -> Self {
        Self::new(conflict.into(), conflict.to_string())
    }

    /// Values are out of bounds.
    pub fn out_of_bounds(fields: Vec<FieldFault>) -> Self {
        let lines: Vec<_> = fields.iter().map(|it| format!("{} {}", it.name, it.reason)).collect();
        Self { fields, ..Self::new(BatchFailureKind::OutOfBounds, lines.join("; ")) }
    }

    fn new(kind: BatchFailureKind, detail: String) -> Self {
        Self { kind, detail, fields: Vec::new() }
    }
}

/// A field at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldFault {
    /// The field's name.
    pub name: String,
    /// Text that says what would be right; continues after the name.
    pub reason: String,
}
