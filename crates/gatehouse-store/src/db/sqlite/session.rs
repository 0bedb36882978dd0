//! One connection to SQLite: runs statements, and derives the disk's health from their errors.

use std::sync::Arc;

use rusqlite::config::DbConfig;
use rusqlite::ffi::{SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_UNIQUE};
use rusqlite::{Connection, ErrorCode};

use super::health::Health;
use crate::db::row::{Row, Value};
use crate::db::work::ReadRow;
use crate::error::StoreError;

/// Prepared statements that each connection caches.
const STATEMENTS_MAX: usize = 128;

/// Use of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The writer's connections: an I/O error ends all writing.
    Writer,
    /// A reader's connection: an I/O error fails only the read.
    Reader,
}

/// A connection to SQLite.
pub(crate) struct Session {
    connection: Connection,
    role: Role,
    health: Arc<Health>,
}

impl Session {
    /// Wraps a connection. Statements are planned once: otherwise SQLite would plan each statement again for the values
    /// of its ranges, which costs more than running most statements.
    pub(super) fn new(
        connection: Connection,
        role: Role,
        health: Arc<Health>,
    ) -> Result<Self, StoreError> {
        connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        Ok(Self { connection, role, health })
    }

    /// Opens a database in memory.
    pub(in crate::db) fn in_memory() -> Result<Self, StoreError> {
        Self::new(Connection::open_in_memory()?, Role::Writer, Arc::new(Health::new()))
    }

    /// The driver's connection. Its errors must go through [`Session::record_error`].
    pub(in crate::db) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Calls `stop` after every `n_steps` steps of a statement, and interrupts the statement when it returns true.
    pub(super) fn set_interrupt(
        &mut self,
        n_steps: i32,
        stop: Option<impl FnMut() -> bool + Send + 'static>,
    ) -> Result<(), StoreError> {
        Ok(self.connection.progress_handler(n_steps, stop)?)
    }

    pub(super) fn health(&self) -> &Health {
        &self.health
    }

    /// Converts a driver's error, and updates the disk's health.
    pub(super) fn record_error(&self, cause: rusqlite::Error) -> StoreError {
        let told = fault(&cause);
        let error = StoreError::from(cause);
        match (told, self.role) {
            (Some(Fault::Full), Role::Writer) => self.health.full(&error.explained()),
            (Some(Fault::Broken), Role::Writer) => self.health.stop(&error.explained()),
            (Some(Fault::Broken), Role::Reader) => self.health.unreadable(&error.explained()),
            // A large sort of a read writes to another disk.
            (Some(Fault::Full), Role::Reader) | (None, _) => {}
        }
        error
    }

    pub(crate) fn rows(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
        each: &mut ReadRow<'_>,
    ) -> Result<(), StoreError> {
        let statement = self.connection.prepare_cached(sql);
        self.read_all(&mut *statement.map_err(|cause| self.record_error(cause))?, values, each)
    }

    /// Runs a query whose text was built for this call, without caching the prepared statement.
    pub(crate) fn rows_once(
        &self,
        sql: &str,
        values: &[Value<'_>],
        each: &mut ReadRow<'_>,
    ) -> Result<(), StoreError> {
        let statement = self.connection.prepare(sql);
        self.read_all(&mut statement.map_err(|cause| self.record_error(cause))?, values, each)
    }

    fn read_all(
        &self,
        statement: &mut rusqlite::Statement<'_>,
        values: &[Value<'_>],
        each: &mut ReadRow<'_>,
    ) -> Result<(), StoreError> {
        let found = statement.query(rusqlite::params_from_iter(values));
        let mut found = found.map_err(|cause| self.record_error(cause))?;
        while let Some(row) = found.next().map_err(|cause| self.record_error(cause))? {
            each(&Row::Sqlite(row))?;
        }
        Ok(())
    }

    pub(crate) fn execute(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<u64, StoreError> {
        let statement = self.connection.prepare_cached(sql);
        let done = statement.and_then(|mut it| it.execute(rusqlite::params_from_iter(values)));
        Ok(done.map_err(|cause| self.record_error(cause))? as u64)
    }

    pub(crate) fn execute_each<const N: usize>(
        &self,
        sql: &'static str,
        rows: &[[Value<'_>; N]],
    ) -> Result<(), StoreError> {
        let statement = self.connection.prepare_cached(sql);
        let mut statement = statement.map_err(|cause| self.record_error(cause))?;
        for row in rows {
            let done = statement.execute(rusqlite::params_from_iter(row));
            done.map_err(|cause| self.record_error(cause))?;
        }
        Ok(())
    }

    pub(crate) fn script(&self, sql: &str) -> Result<(), StoreError> {
        self.connection.execute_batch(sql).map_err(|cause| self.record_error(cause))
    }
}

/// Fault of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The disk is full; SQLite has rolled back.
    Full,
    /// An I/O error, or a damaged page.
    Broken,
}

/// The fault of the disk that an error reports; `None` for other errors.
pub(super) fn fault(cause: &rusqlite::Error) -> Option<Fault> {
    match cause.sqlite_error_code()? {
        ErrorCode::DiskFull => Some(Fault::Full),
        ErrorCode::SystemIoFailure | ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => {
            Some(Fault::Broken)
        }
        _ => None,
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(cause: rusqlite::Error) -> Self {
        let text = cause.to_string().into();
        if fault(&cause) == Some(Fault::Broken) {
            return StoreError::Disk(text);
        }
        match cause.sqlite_error_code() {
            Some(
                ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::OutOfMemory
                | ErrorCode::ReadOnly
                | ErrorCode::DiskFull
                | ErrorCode::CannotOpen,
            ) => StoreError::Unavailable(text),
            Some(ErrorCode::OperationInterrupted) => StoreError::TooSlow,
            Some(ErrorCode::ConstraintViolation) if is_about_a_key(&cause) => {
                StoreError::Taken(text)
            }
            _ => StoreError::Unexpected(text),
        }
    }
}

fn is_about_a_key(cause: &rusqlite::Error) -> bool {
    let code = cause.sqlite_error().map(|error| error.extended_code);
    matches!(code, Some(SQLITE_CONSTRAINT_UNIQUE | SQLITE_CONSTRAINT_PRIMARYKEY))
}
