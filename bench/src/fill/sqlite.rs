//! Fills SQLite: one prepared statement, ten million times, in one transaction without a rollback journal. After an
//! interruption the run starts again.

use std::path::Path;

use rusqlite::{Connection, params};

use super::counted_sets::hex;
use super::{COLUMNS, DriverError, Row, summary_script};
use crate::fleet::{Fleet, TENANT};

/// Fills the database in this file, which must not be open.
pub(crate) fn fill(path: &Path, fleet: Fleet) -> Result<(), DriverError> {
    let connection = Connection::open(path)?;
    // No journal, no flushes, and a cache for the upper part of every index; sorting for an index uses both cores.
    connection.execute_batch(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;
         PRAGMA cache_size = -400000; PRAGMA threads = 2;",
    )?;
    let indexes = read_indexes(&connection)?;
    for (name, _) in &indexes {
        connection.execute_batch(&format!("DROP INDEX {name}"))?;
    }
    connection.execute_batch("BEGIN")?;
    insert(&connection, fleet.accesses().map(|access| Row::new(fleet, &access)))?;
    connection.execute_batch(&summary_script(fleet, |bytes| format!("x'{}'", hex(bytes))))?;
    connection.execute_batch("COMMIT")?;
    for (_, definition) in &indexes {
        connection.execute_batch(definition)?;
    }
    // The server's own settings.
    connection.execute_batch("PRAGMA locking_mode = NORMAL; PRAGMA journal_mode = WAL;")?;
    connection.close().map_err(|(_, cause)| cause.into())
}

/// The version of the server's schema.
pub(crate) fn read_schema_version(path: &Path) -> Result<i64, DriverError> {
    let connection = Connection::open(path)?;
    Ok(connection.query_row("SELECT MAX(version) FROM schema_version", [], |row| row.get(0))?)
}

/// Inserts accesses into their table.
pub(crate) fn insert(
    connection: &Connection,
    rows: impl Iterator<Item = Row>,
) -> Result<(), DriverError> {
    let sql = format!(
        "INSERT INTO access (tenant, is_terminating, {COLUMNS}) \
         VALUES ('{TENANT}', 0, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, \
         ?15, ?16)"
    );
    let mut statement = connection.prepare(&sql)?;
    for row in rows {
        statement.execute(params![
            row.number,
            row.offering_number,
            row.contract_number,
            row.job_number,
            row.id,
            row.contract_id,
            row.offering_id,
            row.job,
            row.username,
            row.password_hash,
            row.device_name,
            row.created_at,
            row.end_at,
            row.created_at,
            row.status,
            row.version,
        ])?;
    }
    Ok(())
}

/// Replaces the password hashes of accesses, by their numbers.
pub(crate) fn set_hashes(path: &Path, hashes: &[(i64, String)]) -> Result<(), DriverError> {
    let mut connection = Connection::open(path)?;
    let transaction = connection.transaction()?;
    let sql =
        format!("UPDATE access SET password_hash = ?2 WHERE tenant = '{TENANT}' AND number = ?1");
    for (number, hash) in hashes {
        transaction.prepare_cached(&sql)?.execute(params![number, hash])?;
    }
    Ok(transaction.commit()?)
}

/// Names and definitions of the indexes on `access`. A primary key's index has no definition.
fn read_indexes(connection: &Connection) -> Result<Vec<(String, String)>, rusqlite::Error> {
    let sql = "SELECT name, sql FROM sqlite_master \
               WHERE type = 'index' AND tbl_name = 'access' AND sql IS NOT NULL";
    let mut statement = connection.prepare(sql)?;
    let indexes = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    indexes.collect()
}
