//! Errors of PostgreSQL and its driver, as [`StoreError`]s.

use tokio_postgres::error::SqlState;

use crate::error::StoreError;

impl From<tokio_postgres::Error> for StoreError {
    fn from(cause: tokio_postgres::Error) -> Self {
        if cause.code() == Some(&SqlState::QUERY_CANCELED) {
            return Self::TooSlow;
        }
        let is_transient = cause.code().is_none_or(is_transient);
        // Two servers that create the same table at once get one of these errors, depending on their timing.
        let clashes =
            [SqlState::UNIQUE_VIOLATION, SqlState::DUPLICATE_OBJECT, SqlState::DUPLICATE_TABLE];
        let is_taken = cause.code().is_some_and(|code| clashes.contains(code));
        // The driver's own text is only "db error"; the server's message is its source.
        let text = match cause.as_db_error() {
            Some(said) => format!("{}: {}", said.code().code(), said.message()),
            None => chain(&cause),
        };
        if cause.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) {
            return Self::Locked(text.into());
        }
        match is_transient {
            true => Self::Unavailable(text.into()),
            false if is_taken => Self::Taken(text.into()),
            false => Self::Unexpected(text.into()),
        }
    }
}

/// Whether another connection may succeed: this server is read-only by now, or has lost the prepared statements.
pub(super) fn is_connection_specific(code: &SqlState) -> bool {
    [SqlState::READ_ONLY_SQL_TRANSACTION, SqlState::INVALID_SQL_STATEMENT_NAME].contains(code)
}

/// Whether a COMMIT that ended with this error was surely rolled back.
///
/// Few errors are that clear. A server that is shut down while it waits for its standbys reports the shutdown, though
/// the transaction is committed.
pub(super) fn is_rolled_back(cause: &tokio_postgres::Error) -> bool {
    let lost_race = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];
    let of_constraint = |code: &SqlState| code.code().starts_with("23");
    cause.code().is_some_and(|code| lost_race.contains(code) || of_constraint(code))
}

fn chain(cause: &dyn std::error::Error) -> String {
    let source = cause.source().map(|source| format!(": {}", chain(source))).unwrap_or_default();
    format!("{cause}{source}")
}

/// Whether a retry may work: errors of connections and resources, interventions of operators, lost races, and prepared
/// statements that a connection has lost.
fn is_transient(code: &SqlState) -> bool {
    ["08", "40", "53", "57", "58"].iter().any(|class| code.code().starts_with(class))
        || *code == SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
        || is_connection_specific(code)
}
