//! Errors of the store.

mod disk_trouble;
mod open_refused;

pub use disk_trouble::DiskTrouble;
pub use open_refused::OpenRefused;

/// Why the store failed. Causes are for the log, never for a client.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database can't be reached or is out of resources: a retry may work.
    #[error("the database can't be reached or is out of resources")]
    Unavailable(#[source] Cause),
    /// The disk of the embedded store fails, or the database on it is damaged. Nothing was written.
    #[error("the disk fails, or the database on it is damaged")]
    Disk(#[source] Cause),
    /// The embedded store is not ready.
    #[error("{0}")]
    NotReady(DiskTrouble),
    /// The embedded store must not be opened.
    #[error("{0}")]
    Refused(OpenRefused),
    /// A COMMIT failed or wasn't answered: the write may have happened or not.
    #[error("a COMMIT failed or wasn't answered")]
    OutcomeUnknown(#[source] Cause),
    /// The database returned an error or a value that the store doesn't expect.
    #[error("the database returned an unexpected response")]
    Unexpected(#[source] Cause),
    /// Another row has this unique key, and no rule checked that before.
    #[error("the database has another row with this key")]
    Taken(#[source] Cause),
    /// Another transaction held a lock for too long.
    #[error("another transaction holds the lock")]
    Locked(#[source] Cause),
    /// Reading so many rows takes longer than the time limit.
    #[error("the read takes longer than its time limit")]
    TooSlow,
    /// Too many reads of many rows are in progress.
    #[error("too many reads of many rows are in progress")]
    Busy,
    /// A newer gatehouse has changed the schema.
    #[error(
        "the database has schema version {found}, and this gatehouse knows versions up to {known}: \
         start the newer gatehouse again, or restore a backup from before its first start"
    )]
    NewerSchema {
        /// The database's schema version.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The database's address can't be used.
    #[error("{0}")]
    Address(String),
    /// A migration into this database has begun and isn't finished.
    #[error(
        "the database holds an unfinished migration: finish it with `gatehouse migrate --from \
         sqlite:PATH --to postgres://…`, as it was begun"
    )]
    Unfinished,
}

impl From<OpenRefused> for StoreError {
    fn from(refused: OpenRefused) -> Self {
        Self::Refused(refused)
    }
}

/// An error of a write's rule, which may wrap a [`StoreError`].
pub trait RuleError: From<StoreError> {
    /// The wrapped store error; `None` for an error of the rule itself.
    fn of_store(&self) -> Option<&StoreError>;
}

impl RuleError for StoreError {
    fn of_store(&self) -> Option<&StoreError> {
        Some(self)
    }
}

/// A [`StoreError`] without its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    Unavailable,
    Disk,
    NotReady,
    Refused,
    OutcomeUnknown,
    Locked,
    Unexpected,
    Taken,
    TooSlow,
    Busy,
    NewerSchema,
    Address,
    Unfinished,
}

impl ErrorKind {
    /// The kinds that an open store can return.
    pub(crate) const OF_OPEN_STORE: [Self; 8] = [
        Self::Unavailable,
        Self::Disk,
        Self::OutcomeUnknown,
        Self::Locked,
        Self::Unexpected,
        Self::Taken,
        Self::TooSlow,
        Self::Busy,
    ];

    /// The `kind` label of metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::Disk => "disk",
            Self::NotReady => "not_ready",
            Self::Refused => "refused",
            Self::OutcomeUnknown => "unsure",
            Self::Locked => "locked",
            Self::Unexpected => "unexpected",
            Self::Taken => "taken",
            Self::TooSlow => "too_slow",
            Self::Busy => "busy",
            Self::NewerSchema => "newer_schema",
            Self::Address => "address",
            Self::Unfinished => "unfinished",
        }
    }
}

/// The driver's error.
pub(crate) type Cause = Box<dyn std::error::Error + Send + Sync>;

impl StoreError {
    /// The kind of this error, without its cause.
    pub(crate) fn kind(&self) -> ErrorKind {
        match self {
            Self::Unavailable(_) => ErrorKind::Unavailable,
            Self::Disk(_) => ErrorKind::Disk,
            Self::NotReady(_) => ErrorKind::NotReady,
            Self::Refused(_) => ErrorKind::Refused,
            Self::OutcomeUnknown(_) => ErrorKind::OutcomeUnknown,
            Self::Locked(_) => ErrorKind::Locked,
            Self::Unexpected(_) => ErrorKind::Unexpected,
            Self::Taken(_) => ErrorKind::Taken,
            Self::TooSlow => ErrorKind::TooSlow,
            Self::Busy => ErrorKind::Busy,
            Self::NewerSchema { .. } => ErrorKind::NewerSchema,
            Self::Address(_) => ErrorKind::Address,
            Self::Unfinished => ErrorKind::Unfinished,
        }
    }

    /// The error with its cause, for operators.
    pub fn explained(&self) -> String {
        match std::error::Error::source(self) {
            Some(cause) => format!("the database can't be used: {cause}"),
            None => self.to_string(),
        }
    }

    /// The store was closed, perhaps while the call waited.
    pub(crate) fn closed() -> Self {
        Self::Unavailable("the store is closed".into())
    }

    /// Copies the error, for each of several callers whose writes shared a transaction.
    pub(crate) fn repeated(&self) -> Self {
        match self {
            Self::Unavailable(cause) => Self::Unavailable(cause.to_string().into()),
            Self::Disk(cause) => Self::Disk(cause.to_string().into()),
            Self::NotReady(trouble) => Self::NotReady(*trouble),
            Self::Refused(refused) => Self::Refused(refused.clone()),
            Self::OutcomeUnknown(cause) => Self::OutcomeUnknown(cause.to_string().into()),
            Self::Locked(cause) => Self::Locked(cause.to_string().into()),
            Self::Unexpected(cause) => Self::Unexpected(cause.to_string().into()),
            Self::Taken(cause) => Self::Taken(cause.to_string().into()),
            Self::TooSlow => Self::TooSlow,
            Self::Busy => Self::Busy,
            Self::NewerSchema { found, known } => {
                Self::NewerSchema { found: *found, known: *known }
            }
            Self::Address(why) => Self::Address(why.clone()),
            Self::Unfinished => Self::Unfinished,
        }
    }

    /// A row holds a value that no version of the schema can have written.
    pub(crate) fn corrupt(what: impl std::fmt::Display) -> Self {
        Self::Unexpected(format!("a row can't be read: {what}").into())
    }
}
