//! Lifecycle of an access: every rule is a function of (access, contract, now).
//!
//! ```text
//!   prepaid ──► PENDING_ACTIVE ──first connection──► ACTIVE ◄──► SUSPENDED
//!   pay per use ──────────────────────────────────────┘ │            │
//!                               planned ► PENDING_TERMINATE ◄────────┘
//!                                                       └──► TERMINATED, from everywhere
//! ```
//!
//! An access is terminated from the instant of its end, whether or not the server has stored that. So every rule begins
//! with [`at`], and no other code may read a stored status.

use crate::access::{Access, PlannedTermination, ShownAccess, Status};
use crate::contract::{BillingModel, Contract, ContractStatus};
use crate::label::{LABELS_MAX, LabelPatch, TooManyLabels};
use crate::time::Timestamp;
use crate::time::zone::ZoneName;

/// Why the present state doesn't allow an operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateConflict {
    /// A termination is final.
    #[error("the access is TERMINATED, which is final")]
    AccessTerminated,
    /// The operator has suspended the contract.
    #[error("the contract is SUSPENDED and gets no new accesses until it is ACTIVE again")]
    ContractSuspended,
    /// The contract has ended.
    #[error("the contract has ended, and no access of it can be made or activated")]
    ContractEnded,
    /// A validity can't start before the contract does.
    #[error("the contract starts at {0}, and no access of it can be activated before")]
    ContractNotStarted(Timestamp),
    /// The contract's quota is used up.
    #[error(
        "the contract's quota of {0} accesses that are not TERMINATED is used up; accesses that batches \
         have reserved count too"
    )]
    QuotaReached(u64),
    /// The contract's quota is too small for the batch.
    #[error(
        "the contract may have {max} accesses that are not TERMINATED, and {n_taken} of these places are \
         taken or reserved: {n_wanted} more don't fit"
    )]
    BatchOverQuota {
        /// The contract's quota.
        max: u64,
        /// Accesses that exist or are reserved by other batches.
        n_taken: u64,
        /// Accesses that the batch needs.
        n_wanted: u64,
    },
    /// The contract is prepaid: its accesses are changed one at a time.
    #[error("the contract is PREPAID, and a batch changes accesses of PAY_PER_USE contracts only")]
    NotPayPerUse,
    /// The access would have more labels than it may.
    #[error("the access would have {0} labels with this change, and may have at most {LABELS_MAX}")]
    TooManyLabels(usize),
}

/// State of a new access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitialState {
    /// The first status.
    pub status: Status,
    /// Start of the active period.
    pub start: Timestamp,
    /// End of the active period.
    pub end: Option<Timestamp>,
}

/// Initial state of a new access under `contract`, which has `n_live` accesses that are not terminated.
pub fn initial_state(
    contract: &Contract,
    n_live: u64,
    now: Timestamp,
) -> Result<InitialState, StateConflict> {
    match contract.status {
        ContractStatus::Active => {}
        ContractStatus::Suspended => return Err(StateConflict::ContractSuspended),
        ContractStatus::Terminated => return Err(StateConflict::ContractEnded),
    }
    if contract.end.is_some_and(|end| end <= now) {
        return Err(StateConflict::ContractEnded);
    }
    if let Some(max) = contract.n_accesses_max
        && n_live >= max
    {
        return Err(StateConflict::QuotaReached(max));
    }
    let status = match contract.billing_model {
        BillingModel::PayPerUse => Status::Active,
        BillingModel::Prepaid => Status::PendingActive,
    };
    let start = contract.start.map_or(now, |start| start.max(now));
    Ok(InitialState { status, start, end: contract.end })
}

/// Checks that `contract` has quota for a batch of `n_wanted` accesses, where `n_taken` exist or are reserved.
pub fn reserve(
    contract: &Contract,
    n_taken: u64,
    n_wanted: u64,
    now: Timestamp,
) -> Result<(), StateConflict> {
    initial_state(contract, 0, now)?;
    match contract.n_accesses_max {
        Some(max) if n_taken.saturating_add(n_wanted) > max => {
            Err(StateConflict::BatchOverQuota { max, n_taken, n_wanted })
        }
        _ => Ok(()),
    }
}

/// The access as of `now`: terminated once its end has come.
///
/// A sweep later stores exactly this state, with the same version, so clients see no difference.
pub fn at(access: &Access, now: Timestamp) -> Access {
    let mut access = access.clone();
    advance_to(&mut access, now);
    access
}

/// Brings an access to its state as of `now`, in place.
pub fn advance_to(access: &mut Access, now: Timestamp) {
    if has_ended(access.status, access.end, now) {
        access.status = Status::Terminated;
        access.termination = None;
        access.version += 1;
    }
}

/// Brings a shown access to its state as of `now`, in place.
pub fn advance_shown_to(access: &mut ShownAccess<'_>, now: Timestamp) {
    if has_ended(access.status, access.end, now) {
        access.status = Status::Terminated;
    }
}

/// Whether the end has come and is not stored yet.
fn has_ended(status: Status, end: Option<Timestamp>, now: Timestamp) -> bool {
    status != Status::Terminated && end.is_some_and(|end| end <= now)
}

/// Statuses that a client may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetStatus {
    /// Allow connections.
    Active,
    /// Refuse connections for now.
    Suspended,
    /// Terminate at once.
    Terminated,
}

impl TargetStatus {
    /// Every target.
    pub const ALL: [Self; 3] = [Self::Active, Self::Suspended, Self::Terminated];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        Status::from(self).as_str()
    }

    /// The target with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|target| target.as_str() == word)
    }
}

impl From<TargetStatus> for Status {
    fn from(target: TargetStatus) -> Self {
        match target {
            TargetStatus::Active => Self::Active,
            TargetStatus::Suspended => Self::Suspended,
            TargetStatus::Terminated => Self::Terminated,
        }
    }
}

/// Sets the status as the client requested. Returns the access unchanged if there is nothing to change.
pub fn set_status(
    access: &Access,
    contract: &Contract,
    target: TargetStatus,
    now: Timestamp,
) -> Result<Access, StateConflict> {
    let access = at(access, now);
    match (access.status, target) {
        (Status::Terminated, TargetStatus::Terminated)
        | (Status::Active, TargetStatus::Active)
        | (Status::Suspended, TargetStatus::Suspended) => Ok(access),
        (Status::Terminated, TargetStatus::Active | TargetStatus::Suspended) => {
            Err(StateConflict::AccessTerminated)
        }
        (_, TargetStatus::Terminated) => Ok(changed(access, |it| {
            it.status = Status::Terminated;
            it.end = Some(now);
            it.termination = None;
        })),
        // A planned termination stays planned: suspending must not prolong the access.
        (_, TargetStatus::Suspended) => Ok(changed(access, |it| it.status = Status::Suspended)),
        (_, TargetStatus::Active) if never_connected(&access, contract) => {
            activate(access, contract, now)
        }
        (_, TargetStatus::Active) => Ok(changed(access, |it| {
            it.status = Status::Active;
            if let Some(planned) = it.termination.take() {
                it.end = planned.end_before;
            }
        })),
    }
}

/// Whether a batch may update or terminate the accesses of this contract.
pub fn allow_batch(contract: &Contract) -> Result<(), StateConflict> {
    match contract.billing_model {
        BillingModel::PayPerUse => Ok(()),
        BillingModel::Prepaid => Err(StateConflict::NotPayPerUse),
    }
}

/// Plans the termination for the end of the tenant's month, or for the access's own end if that comes first. Returns
/// the access unchanged if it is planned or terminated already.
pub fn plan_termination(access: &Access, zone: &ZoneName, now: Timestamp) -> Access {
    let access = at(access, now);
    let is_decided = matches!(access.status, Status::PendingTerminate | Status::Terminated);
    if is_decided || access.termination.is_some() {
        return access;
    }
    let month_end = zone.next_month(now);
    changed(access, |it| {
        it.termination = Some(PlannedTermination { end_before: it.end });
        it.end = Some(it.end.map_or(month_end, |end| end.min(month_end)));
        // A suspended access stays suspended until then.
        if it.status != Status::Suspended {
            it.status = Status::PendingTerminate;
        }
    })
}

/// Checks that the password may be rotated, and increments the version.
pub fn rotate_password(access: &Access, now: Timestamp) -> Result<Access, StateConflict> {
    let access = at(access, now);
    match access.status {
        Status::Terminated => Err(StateConflict::AccessTerminated),
        _ => Ok(changed(access, |_| {})),
    }
}

/// Changes labels. Returns the access unchanged if it has these labels already.
pub fn change_labels(
    access: &Access,
    patch: &LabelPatch,
    now: Timestamp,
) -> Result<Access, StateConflict> {
    let access = at(access, now);
    if access.status == Status::Terminated {
        return Err(StateConflict::AccessTerminated);
    }
    let labels = access.labels.patched(patch);
    let labels = labels.map_err(|TooManyLabels(n)| StateConflict::TooManyLabels(n))?;
    Ok(if labels == access.labels { access } else { changed(access, |it| it.labels = labels) })
}

/// The access doesn't pass the check. The caller must not learn why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckRefused;

/// Whether a device may connect, as far as the access tells without its contract.
///
/// `None` is the first connection, which [`connect`] must count before the device may connect.
pub fn may_connect(access: &Access, now: Timestamp) -> Result<Option<Access>, CheckRefused> {
    let access = at(access, now);
    match access.status {
        Status::Active | Status::PendingTerminate if started(&access, now) => Ok(Some(access)),
        // The contract decides, as for a client that sets the access active.
        Status::PendingActive => Ok(None),
        _ => Err(CheckRefused),
    }
}

/// Admits a device whose password was right. The first connection starts a prepaid access's validity.
pub fn connect(
    access: &Access,
    contract: &Contract,
    now: Timestamp,
) -> Result<Access, CheckRefused> {
    match may_connect(access, now)? {
        Some(access) => Ok(access),
        None => activate(at(access, now), contract, now).map_err(|_| CheckRefused),
    }
}

/// Whether the active period has begun.
///
/// A start that equals the creation or the first connection is past, whatever another server's clock says: only a start
/// that was taken from the contract is compared with `now`.
fn started(access: &Access, now: Timestamp) -> bool {
    access.start <= access.created_at || access.first_connected_at.is_some() || access.start <= now
}

fn never_connected(access: &Access, contract: &Contract) -> bool {
    contract.billing_model == BillingModel::Prepaid && access.first_connected_at.is_none()
}

/// Starts the validity of a prepaid access, as its first connection does.
fn activate(access: Access, contract: &Contract, now: Timestamp) -> Result<Access, StateConflict> {
    if let Some(start) = contract.start.filter(|start| *start > now) {
        return Err(StateConflict::ContractNotStarted(start));
    }
    let valid_until = contract.validity.as_ref().map(|validity| validity.after(now));
    let end = [valid_until, contract.end].into_iter().flatten().min();
    if end.is_some_and(|end| end <= now) {
        // The contract's end was changed after the access was created.
        return Err(StateConflict::ContractEnded);
    }
    Ok(changed(access, |it| {
        it.status = Status::Active;
        it.start = now;
        it.end = end;
        it.first_connected_at = Some(now);
        it.termination = None;
    }))
}

fn changed(mut access: Access, change: impl FnOnce(&mut Access)) -> Access {
    change(&mut access);
    access.version += 1;
    access
}

#[cfg(test)]
mod tests;
