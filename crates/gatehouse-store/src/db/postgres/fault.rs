//! What PostgreSQL and its driver say when something goes wrong, in the store's own words.

use tokio_postgres::error::SqlState;

use crate::error::StoreError;

impl From<tokio_postgres::Error> for StoreError {
    fn from(cause: tokio_postgres::Error) -> Self {
        if cause.code() == Some(&SqlState::QUERY_CANCELED) {
            return Self::TooSlow;
        }
        let passing = cause.code().is_none_or(is_passing);
        // Two servers that make the same table at once clash in one of these ways; which one depends on their timing.
        let clashes =
            [SqlState::UNIQUE_VIOLATION, SqlState::DUPLICATE_OBJECT, SqlState::DUPLICATE_TABLE];
        let is_taken = cause.code().is_some_and(|code| clashes.contains(code));
        // The driver's own text is only "db error": what the server said is its source.
        let text = match cause.as_db_error() {
            Some(said) => format!("{}: {}", said.code().code(), said.message()),
            None => chain(&cause),
        };
        if cause.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) {
            return Self::Locked(text.into());
        }
        match passing {
            true => Self::Unavailable(text.into()),
            false if is_taken => Self::Taken(text.into()),
            false => Self::Unexpected(text.into()),
        }
    }
}

/// Whether another connection would do better: the server takes no writes any more, or doesn't know what was prepared.
pub(super) fn is_of_connection(code: &SqlState) -> bool {
    [SqlState::READ_ONLY_SQL_TRANSACTION, SqlState::INVALID_SQL_STATEMENT_NAME].contains(code)
}

/// Whether a COMMIT that ended like this has surely undone everything.
///
/// Few of its ends are so clear. A server that is told to stop while it waits for its standbys says that it was told
/// to stop, and what it was to commit is committed.
pub(super) fn is_undone(cause: &tokio_postgres::Error) -> bool {
    let lost_race = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];
    let of_constraint = |code: &SqlState| code.code().starts_with("23");
    cause.code().is_some_and(|code| lost_race.contains(code) || of_constraint(code))
}

fn chain(cause: &dyn std::error::Error) -> String {
    let source = cause.source().map(|source| format!(": {}", chain(source))).unwrap_or_default();
    format!("{cause}{source}")
}

/// Whether the same may work later: connection, resources, operator's intervention, lost races, and statements that a
/// connection doesn't know any more.
fn is_passing(code: &SqlState) -> bool {
    ["08", "40", "53", "57", "58"].iter().any(|class| code.code().starts_with(class))
        || *code == SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
        || is_of_connection(code)
}
