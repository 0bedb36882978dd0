//! What can go wrong between the store and its database.

mod disk_trouble;
mod refused;

pub use disk_trouble::DiskTrouble;
pub use refused::Refused;

/// Why the store can't answer. The causes are for the log, never for a client.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database can't be reached or has no room: the same may work later.
    #[error("the database can't be reached or is out of resources")]
    Unavailable(#[source] Cause),
    /// The disk under the embedded store fails, or what is on it is damaged. Nothing was written.
    #[error("the disk fails, or the database on it is damaged")]
    Disk(#[source] Cause),
    /// The embedded store is not ready.
    #[error("{0}")]
    NotReady(DiskTrouble),
    /// What is there can't be opened.
    #[error("{0}")]
    Refused(Refused),
    /// The database was lost in the middle of making a write durable: it has happened, or it hasn't.
    #[error("the database was lost while it committed")]
    Unsure(#[source] Cause),
    /// The database said what no rule of ours expects.
    #[error("the database gave an unexpected answer")]
    Unexpected(#[source] Cause),
    /// A row has a key that another one has, and no rule of ours looked for it before.
    #[error("the database has another row with this key")]
    Taken(#[source] Cause),
    /// A lock was not to be had in time that others hold.
    #[error("what is to be changed is in use")]
    Locked(#[source] Cause),
    /// Looking at so many rows takes longer than it may.
    #[error("this takes longer than it may")]
    TooSlow,
    /// Too many are looking at many rows just now.
    #[error("too many are looking at many rows just now")]
    Busy,
    /// The database was written by a newer gatehouse.
    #[error(
        "the database has schema version {found}, and this gatehouse knows versions up to {known}: \
         start the newer gatehouse again, or restore a backup from before its first start"
    )]
    NewerSchema {
        /// What the database says.
        found: i64,
        /// What this program knows.
        known: i64,
    },
    /// The address of the database can't be used.
    #[error("{0}")]
    Address(String),
    /// An estate is being moved into the database, or was left half-way.
    #[error(
        "the database holds an unfinished migration: finish it with `gatehouse migrate --from \
         sqlite:PATH --to postgres://…`, as it was begun"
    )]
    Unfinished,
}

impl From<Refused> for StoreError {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

/// An error of whoever asks something of the store, which may be the store's own failure.
pub trait Failure: From<StoreError> {
    /// The store's failure, if it is one.
    fn of_store(&self) -> Option<&StoreError>;
}

impl Failure for StoreError {
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
    Unsure,
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
    /// The kinds that an open store can have.
    pub(crate) const OF_OPEN_STORE: [Self; 8] = [
        Self::Unavailable,
        Self::Disk,
        Self::Unsure,
        Self::Locked,
        Self::Unexpected,
        Self::Taken,
        Self::TooSlow,
        Self::Busy,
    ];

    /// The kind as metrics show it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::Disk => "disk",
            Self::NotReady => "not_ready",
            Self::Refused => "refused",
            Self::Unsure => "unsure",
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

/// Whatever the driver said.
pub(crate) type Cause = Box<dyn std::error::Error + Send + Sync>;

impl StoreError {
    /// The kind of this error, without its cause.
    pub(crate) fn kind(&self) -> ErrorKind {
        match self {
            Self::Unavailable(_) => ErrorKind::Unavailable,
            Self::Disk(_) => ErrorKind::Disk,
            Self::NotReady(_) => ErrorKind::NotReady,
            Self::Refused(_) => ErrorKind::Refused,
            Self::Unsure(_) => ErrorKind::Unsure,
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

    /// What happened with what caused it, for whoever runs the server.
    pub fn explained(&self) -> String {
        match std::error::Error::source(self) {
            Some(cause) => format!("the database can't be used: {cause}"),
            None => self.to_string(),
        }
    }

    /// The store is closed, or the work was dropped with it.
    pub(crate) fn gone() -> Self {
        Self::Unavailable("the store is closed".into())
    }

    /// The same once more, for the next of several who were in it together.
    pub(crate) fn repeated(&self) -> Self {
        match self {
            Self::Unavailable(cause) => Self::Unavailable(cause.to_string().into()),
            Self::Disk(cause) => Self::Disk(cause.to_string().into()),
            Self::NotReady(trouble) => Self::NotReady(*trouble),
            Self::Refused(refused) => Self::Refused(refused.clone()),
            Self::Unsure(cause) => Self::Unsure(cause.to_string().into()),
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

    /// A row that no version of the schema can have written.
    pub(crate) fn corrupt(what: impl std::fmt::Display) -> Self {
        Self::Unexpected(format!("a row can't be read: {what}").into())
    }
}
