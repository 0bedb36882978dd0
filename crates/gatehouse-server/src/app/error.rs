//! Why the service did not do what it was asked.

use std::time::Duration;

use gatehouse_core::account::ACCOUNTS_MAX;
use gatehouse_core::lifecycle::StateConflict;
use gatehouse_core::{AccessId, BatchFailure, ContractId, RequestKey, TaskState, Username};
use gatehouse_store::{Failure, StoreError};
use gatehouse_vault::{PoolBusy, VaultError};

use crate::reader::{Fault, told};

/// Why the service did not do what it was asked.
///
/// Callers match on the variants, so each stands for something a caller would treat differently.
/// Nothing here knows a status code; `http::problem` holds that table.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The tenant doesn't exist.
    #[error("there is no tenant `{0}`")]
    NoTenant(String),
    /// The thing doesn't exist, or belongs to another tenant: the caller must not learn which.
    #[error("there is no {0} `{1}`")]
    NotFound(&'static str, String),
    /// The request names a contract that the tenant doesn't have.
    #[error("{}", BatchFailure::unknown_contract(.0).detail)]
    UnknownContract(ContractId),
    /// Another access of the tenant has this username.
    #[error("{}", BatchFailure::username_taken(.0).detail)]
    UsernameTaken(Username),
    /// A server of an older version, which is there or was a short while ago, could not read this username.
    #[error(
        "username `{0}` has a `:`, which servers of an older version can't read: try again when all servers are of the \
         new version"
    )]
    UsernameUnreadable(Username),
    /// The present state doesn't allow it.
    #[error(transparent)]
    StateConflict(#[from] StateConflict),
    /// What has accesses can't be deleted, or become something else.
    #[error(
        "{what} while there are accesses: it has {n_accesses}, TERMINATED and reserved ones included"
    )]
    InUse {
        /// What can't be done.
        what: &'static str,
        /// How many there are.
        n_accesses: u64,
    },
    /// What an account says is nothing that its connector can do with.
    #[error("{}", told(.0))]
    InvalidAccount(Vec<Fault>),
    /// The tenant has as many accounts as it may have.
    #[error("the tenant has {ACCOUNTS_MAX} accounts, and may have no more")]
    TooManyAccounts,
    /// A Task that is over can't be stopped.
    #[error("the Task is {}, and only one that is ACKNOWLEDGED or IN_PROGRESS can be stopped", .0.as_str())]
    TaskFinished(TaskState),
    /// The Task is not there yet.
    #[error("the Task is {}; {what}", .state.as_str())]
    TaskNotReady {
        /// Where it is.
        state: TaskState,
        /// What can be asked when.
        what: &'static str,
    },
    /// The key of a request was used for another one.
    #[error(
        "the key `{0}` was used with another body in the last 24 hours; another request needs another key"
    )]
    KeyReused(RequestKey),
    /// The same request is being worked on.
    #[error("a request with the key `{0}` is under way; try again to learn what came of it")]
    InProgress(RequestKey),
    /// A secret was guessed wrongly so often that none is looked at for so long.
    #[error("too many failed checks of this name: none is looked at for {} s", seconds(*.0))]
    TooManyGuesses(Duration, Option<AccessId>),
    /// Others change the account all the time.
    #[error("the account `{0}` is being changed by others; try again")]
    AccountChanging(String),
    /// The access has changed since the client saw it.
    #[error(
        "the access has the ETag \"{0}\", which If-Match or If-None-Match excludes; an ETag is written \
         with its quotes"
    )]
    Stale(u64),
    /// A device's credentials don't let it in. Why is nobody's business.
    #[error("the credentials are refused")]
    CredentialsRefused(Option<AccessId>),
    /// A test ended a worker's step.
    #[error("interrupted")]
    Interrupted,
    /// Too much is being hashed just now.
    #[error(transparent)]
    Busy(#[from] PoolBusy),
    /// A stored hash can't be read with the keys that are here.
    #[error("a stored password can't be checked")]
    Vault(#[source] VaultError),
    /// Our own storage let us down; the cause is for the log, never for the client.
    #[error("storage failed")]
    Storage(#[from] StoreError),
}

impl Failure for Error {
    fn of_store(&self) -> Option<&StoreError> {
        match self {
            Self::Storage(error) => Some(error),
            _ => None,
        }
    }
}

/// Whole seconds after which so much time has passed.
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
