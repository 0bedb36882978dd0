//! Errors of the service's operations.

use std::time::Duration;

use gatehouse_core::account::ACCOUNTS_MAX;
use gatehouse_core::lifecycle::StateConflict;
use gatehouse_core::{AccessId, BatchFailure, ContractId, RequestKey, TaskState, Username};
use gatehouse_store::{RuleError, StoreError};
use gatehouse_vault::{PoolBusy, VaultError};

use crate::reader::{Fault, joined};

/// An error of the service.
///
/// Each variant is one that callers handle differently. HTTP statuses are in `http::answer::problem`.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The tenant doesn't exist.
    #[error("there is no tenant `{0}`")]
    NoTenant(String),
    /// The object doesn't exist, or belongs to another tenant: the caller must not learn which.
    #[error("there is no {0} `{1}`")]
    NotFound(&'static str, String),
    /// The contract doesn't exist.
    #[error("{}", BatchFailure::unknown_contract(.0).detail)]
    UnknownContract(ContractId),
    /// Another access of the tenant has this username.
    #[error("{}", BatchFailure::username_taken(.0).detail)]
    UsernameTaken(Username),
    /// A server of an older version runs, or ran until recently, and can't parse this username.
    #[error(
        "username `{0}` has a `:`, which servers of an older version can't read: try again when all servers are of the \
         new version"
    )]
    UsernameUnreadable(Username),
    /// The object's state doesn't allow the operation.
    #[error(transparent)]
    StateConflict(#[from] StateConflict),
    /// An object with accesses can't be deleted or changed this way.
    #[error(
        "{what} while there are accesses: it has {n_accesses}, TERMINATED and reserved ones included"
    )]
    InUse {
        /// The refused operation.
        what: &'static str,
        /// Number of accesses.
        n_accesses: u64,
    },
    /// The connector refuses the account's settings or credentials.
    #[error("{}", joined(.0))]
    InvalidAccount(Vec<Fault>),
    /// A hub can't be made like this.
    #[error("the hub can't be made like this")]
    InvalidHub(Vec<Fault>),
    /// The tenant has as many hubs as it may have.
    #[error("the tenant has {0} hubs, and no more are allowed: delete one first")]
    TooManyHubs(u64),
    /// The tenant has as many hooks as it may have.
    #[error("the tenant has {0} hooks, and no more are allowed: delete one first")]
    TooManyHooks(u64),
    /// The tenant has the maximum number of accounts.
    #[error("the tenant has {ACCOUNTS_MAX} accounts, and may have no more")]
    TooManyAccounts,
    /// A server of an older version would process the batch wrongly.
    #[error(
        "a server of an older version is there, or was a minute ago, which can't process a batch with {0}; try again once \
         all servers are upgraded"
    )]
    OlderServer(&'static str),
    /// The filter of a batch compares labels that the tenant doesn't filter by.
    #[error("{}", .0.join("; "))]
    InvalidFilter(Vec<String>),
    /// More accesses match a filter than a batch may change.
    #[error("matches {total} accesses; a batch may change at most {n_max}")]
    TooManyMatches {
        /// Number of matching accesses.
        total: u64,
        /// Most accesses of a batch.
        n_max: u64,
    },
    /// The events behind the client's position were deleted for their age.
    #[error(
        "the events behind number {after} were deleted for their age; the oldest event that is left has number {oldest}: \
         read the accesses again, and follow the events behind the X-Event-Number of their first page"
    )]
    EventsDeleted {
        /// The client's position.
        after: u64,
        /// Number of the oldest event.
        oldest: u64,
    },
    /// The tenant's journal doesn't have the client's position yet.
    #[error(
        "there is no event number {after}: the last one is {last}; perhaps the number is of another store, or of one \
         from before a restore: then read the accesses again"
    )]
    EventsAhead {
        /// The client's position.
        after: u64,
        /// Number of the last event.
        last: u64,
    },
    /// The tenant's journal hasn't begun.
    #[error(
        "there are no events yet: they begin soon after the last server of an older version is gone; try again later"
    )]
    NoJournal,
    /// The Task has ended and can't be stopped.
    #[error("the Task is {}, and only one that is ACKNOWLEDGED or IN_PROGRESS can be stopped", .0.as_str())]
    TaskFinished(TaskState),
    /// The Task hasn't made enough progress.
    #[error("the Task is {}; {what}", .state.as_str())]
    TaskNotReady {
        /// Its state.
        state: TaskState,
        /// Explanation for the client.
        what: &'static str,
    },
    /// The idempotency key was used with another body.
    #[error(
        "the key `{0}` was used with another body in the last 24 hours; another request needs another key"
    )]
    KeyReused(RequestKey),
    /// A request with the same idempotency key is in progress.
    #[error("a request with the key `{0}` is in progress; try again to get its result")]
    InProgress(RequestKey),
    /// Too many failed checks: the next is allowed after this time.
    #[error("too many failed checks of this name: try again in {} s", seconds(*.0))]
    TooManyGuesses(Duration, Option<AccessId>),
    /// Concurrent changes of the account kept interfering.
    #[error("the account `{0}` is being changed by other requests; try again")]
    AccountChanging(String),
    /// The access's version doesn't match the request's condition.
    #[error(
        "the access has the ETag \"{0}\", which If-Match or If-None-Match excludes; an ETag is written \
         with its quotes"
    )]
    Stale(u64),
    /// The device's credentials are refused, without a reason.
    #[error("the credentials are refused")]
    CredentialsRefused(Option<AccessId>),
    /// The hashing pool is full.
    #[error(transparent)]
    Busy(#[from] PoolBusy),
    /// The master key of a stored hash is missing.
    #[error("a stored password can't be checked")]
    Vault(#[source] VaultError),
    /// The store failed; the cause is for the log, never for the client.
    #[error("storage failed")]
    Storage(#[from] StoreError),
}

impl RuleError for Error {
    fn of_store(&self) -> Option<&StoreError> {
        match self {
            Self::Storage(error) => Some(error),
            _ => None,
        }
    }
}

/// The time in seconds, rounded up.
pub(crate) fn seconds(time: Duration) -> u64 {
    time.as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX)
}

impl From<VaultError> for Error {
    fn from(error: VaultError) -> Self {
        match error {
            VaultError::Busy(busy) => Self::Busy(busy),
            VaultError::UnknownKey => Self::Vault(error),
        }
    }
}
