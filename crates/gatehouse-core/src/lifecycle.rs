//! The life of an access: every rule is a function of (access, contract, now).
//!
//! ```text
//!   prepaid ──► PENDING_ACTIVE ──first connection──► ACTIVE ◄──► SUSPENDED
//!   pay per use ──────────────────────────────────────┘ │            │
//!                               planned ► PENDING_TERMINATE ◄────────┘
//!                                                       └──► TERMINATED, from everywhere
//! ```
//!
//! An access whose end has come is terminated from that instant, whether or not anyone has written
//! it down. So every rule begins with [`at`], and nothing else may look at a stored status.

use crate::access::{Access, PlannedTermination, ShownAccess, Status};
use crate::contract::{BillingModel, Contract, ContractStatus};
use crate::tenant::ZoneName;
use crate::time::Timestamp;

/// Why the present state doesn't allow what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateConflict {
    /// Nothing brings an access back.
    #[error("the access is TERMINATED, which is final")]
    AccessTerminated,
    /// The operator has suspended the contract.
    #[error("the contract is SUSPENDED and gets no new accesses until it is ACTIVE again")]
    ContractSuspended,
    /// The contract is over.
    #[error("the contract has ended, and no access of it can be made or activated")]
    ContractEnded,
    /// A validity can't start before the contract does.
    #[error("the contract starts at {0}, and no access of it can be activated before")]
    ContractNotStarted(Timestamp),
    /// The contract has all the accesses that it may have.
    #[error(
        "the contract may have {0} accesses that are not TERMINATED and has as many, those included for \
         which batches have reserved room"
    )]
    QuotaReached(u64),
    /// The contract has room, but not for as many.
    #[error(
        "the contract may have {max} accesses that are not TERMINATED, and {n_taken} of these places are \
         taken or reserved: {n_wanted} more don't fit"
    )]
    BatchOverQuota {
        /// How many it may have.
        max: u64,
        /// How many it has, and how many others have reserved.
        n_taken: u64,
        /// How many were asked for.
        n_wanted: u64,
    },
    /// What is paid for in advance is changed one at a time.
    #[error("the contract is PREPAID, and a batch changes accesses of PAY_PER_USE contracts only")]
    NotPayPerUse,
}

/// What a new access begins its life with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitialState {
    /// Its first status.
    pub status: Status,
    /// From when it may connect.
    pub start: Timestamp,
    /// Until when.
    pub end: Option<Timestamp>,
}

/// Opens a new access under `contract`, which has `n_live` accesses that are not terminated.
pub fn open(
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

/// Makes room for a batch of `n_wanted` under `contract`, of whose places `n_taken` are taken or
/// reserved; says what stands against opening the first of them, or against their number.
pub fn reserve(
    contract: &Contract,
    n_taken: u64,
    n_wanted: u64,
    now: Timestamp,
) -> Result<(), StateConflict> {
    open(contract, 0, now)?;
    match contract.n_accesses_max {
        Some(max) if n_taken.saturating_add(n_wanted) > max => {
            Err(StateConflict::BatchOverQuota { max, n_taken, n_wanted })
        }
        _ => Ok(()),
    }
}

/// The access as it is at `now`: terminated once its end has come.
///
/// Writing that down later makes exactly this of it, the version included, so a client can't tell.
pub fn at(access: &Access, now: Timestamp) -> Access {
    let mut access = access.clone();
    settle(&mut access, now);
    access
}

/// The same, in place.
pub fn settle(access: &mut Access, now: Timestamp) {
    if has_ended(access.status, access.end, now) {
        access.status = Status::Terminated;
        access.termination = None;
        access.version += 1;
    }
}

/// The same, of what answers show.
pub fn settle_shown(access: &mut ShownAccess<'_>, now: Timestamp) {
    if has_ended(access.status, access.end, now) {
        access.status = Status::Terminated;
    }
}

/// Whether its end has come and is not written down.
fn has_ended(status: Status, end: Option<Timestamp>, now: Timestamp) -> bool {
    status != Status::Terminated && end.is_some_and(|end| end <= now)
}

/// The statuses that a client may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetStatus {
    /// Let it connect.
    Active,
    /// Keep it out for now.
    Suspended,
    /// End it at once.
    Terminated,
}

impl TargetStatus {
    /// Every target.
    pub const ALL: [Self; 3] = [Self::Active, Self::Suspended, Self::Terminated];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        Status::from(self).as_str()
    }

    /// The target that this word names.
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

/// Changes the status as a client asked. The same access comes back where there is nothing to change.
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
        // A planned termination stays planned: suspending must not prolong anything.
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

/// Whether a batch may change the accesses of this contract, be it an update or a termination.
pub fn allow_batch(contract: &Contract) -> Result<(), StateConflict> {
    match contract.billing_model {
        BillingModel::PayPerUse => Ok(()),
        BillingModel::Prepaid => Err(StateConflict::NotPayPerUse),
    }
}

/// Plans the termination for the end of the tenant's month, or for the end that the access has, if that
/// comes before. The same access comes back where it is planned already, or over.
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
        // Who is kept out stays out until then.
        if it.status != Status::Suspended {
            it.status = Status::PendingTerminate;
        }
    })
}

/// Counts a password that was rotated as a change.
pub fn rotate_password(access: &Access, now: Timestamp) -> Result<Access, StateConflict> {
    let access = at(access, now);
    match access.status {
        Status::Terminated => Err(StateConflict::AccessTerminated),
        _ => Ok(changed(access, |_| {})),
    }
}

/// A check that an access doesn't pass. Why is nobody's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckRefused;

/// Whether the access lets a device in, as far as can be told without its contract.
///
/// `None` is the first connection, which [`connect`] must count before the device is let in.
pub fn may_connect(access: &Access, now: Timestamp) -> Result<Option<Access>, CheckRefused> {
    let access = at(access, now);
    match access.status {
        Status::Active | Status::PendingTerminate if started(&access, now) => Ok(Some(access)),
        // Its contract says whether it may start, as for who sets it active.
        Status::PendingActive => Ok(None),
        _ => Err(CheckRefused),
    }
}

/// Lets a device in whose password was right. Its first connection starts a prepaid access's validity.
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
/// A start that is the creation itself, or the first connection, lies in the past whatever a second
/// server's clock says: only a start that waits for the contract's is compared with `now`.
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
        // The contract's end was moved since the access was made.
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
