//! One connection to SQLite's database: its statements, and what their errors say about the disk.

use std::sync::Arc;

use rusqlite::config::DbConfig;
use rusqlite::ffi::{SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_UNIQUE};
use rusqlite::{Connection, ErrorCode};

use super::health::Health;
use crate::db::row::{Row, Value};
use crate::db::work::ReadRow;
use crate::error::StoreError;

/// Statements that each connection keeps ready.
const STATEMENTS_MAX: usize = 128;

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The one that writes: an error of the disk ends all writing.
    Writer,
    /// One of those that read: such an error is its own.
    Reader,
}

/// A connection.
pub(crate) struct Session {
    connection: Connection,
    role: Role,
    health: Arc<Health>,
}

impl Session {
    /// Statements are planned once. Without this SQLite would look at the values of every range and plan
    /// each statement anew for them, which costs more than most statements do.
    pub(super) fn new(
        connection: Connection,
        role: Role,
        health: Arc<Health>,
    ) -> Result<Self, StoreError> {
        connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        Ok(Self { connection, role, health })
    }

    /// One to a database in memory, which no disk can fail under.
    pub(in crate::db) fn in_memory() -> Result<Self, StoreError> {
        Self::new(Connection::open_in_memory()?, Role::Writer, Arc::new(Health::new()))
    }

    /// The connection as the driver has it. What it says must come back through [`Session::heard`].
    pub(in crate::db) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Asks `stop` after each so many steps of a statement whether to end it.
    pub(super) fn look_up(
        &mut self,
        n_steps: i32,
        stop: Option<impl FnMut() -> bool + Send + 'static>,
    ) -> Result<(), StoreError> {
        Ok(self.connection.progress_handler(n_steps, stop)?)
    }

    pub(super) fn health(&self) -> &Health {
        &self.health
    }

    /// Has the disk's condition follow from an error.
    pub(super) fn heard(&self, cause: rusqlite::Error) -> StoreError {
        let told = fault(&cause);
        let error = StoreError::from(cause);
        match (told, self.role) {
            (Some(Fault::Full), Role::Writer) => self.health.full(&error.explained()),
            (Some(Fault::Broken), Role::Writer) => self.health.stop(&error.explained()),
            (Some(Fault::Broken), Role::Reader) => self.health.unreadable(&error.explained()),
            // What a read writes, when it sorts a lot, lies elsewhere.
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
        self.read_all(&mut *statement.map_err(|cause| self.heard(cause))?, values, each)
    }

    /// The rows that a statement finds which is made for this one time.
    pub(crate) fn rows_once(
        &self,
        sql: &str,
        values: &[Value<'_>],
        each: &mut ReadRow<'_>,
    ) -> Result<(), StoreError> {
        let statement = self.connection.prepare(sql);
        self.read_all(&mut statement.map_err(|cause| self.heard(cause))?, values, each)
    }

    fn read_all(
        &self,
        statement: &mut rusqlite::Statement<'_>,
        values: &[Value<'_>],
        each: &mut ReadRow<'_>,
    ) -> Result<(), StoreError> {
        let found = statement.query(rusqlite::params_from_iter(values));
        let mut found = found.map_err(|cause| self.heard(cause))?;
        while let Some(row) = found.next().map_err(|cause| self.heard(cause))? {
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
        Ok(done.map_err(|cause| self.heard(cause))? as u64)
    }

    pub(crate) fn execute_each<const N: usize>(
        &self,
        sql: &'static str,
        rows: &[[Value<'_>; N]],
    ) -> Result<(), StoreError> {
        let statement = self.connection.prepare_cached(sql);
        let mut statement = statement.map_err(|cause| self.heard(cause))?;
        for row in rows {
            let done = statement.execute(rusqlite::params_from_iter(row));
            done.map_err(|cause| self.heard(cause))?;
        }
        Ok(())
    }

    pub(crate) fn script(&self, sql: &str) -> Result<(), StoreError> {
        self.connection.execute_batch(sql).map_err(|cause| self.heard(cause))
    }
}

/// What an error says about the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// There is no room; SQLite has undone what it could not finish.
    Full,
    /// It fails, or what is on it is not what was written.
    Broken,
}

/// What an error says about the disk, if anything.
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
