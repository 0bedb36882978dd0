//! Indexes of accesses that are built on PostgreSQL while all servers go on: building one takes long where there are
//! many accesses, and no client waits for it.

use crate::db::{Db, Dialect, Row};
use crate::error::StoreError;

/// An index: its name, and the statement that builds it while other transactions write.
#[derive(Clone, Copy)]
pub(crate) struct AccessIndex {
    pub(crate) name: &'static str,
    pub(crate) concurrently: &'static str,
}

impl AccessIndex {
    /// The statement that builds it while no other transaction writes.
    pub(crate) fn at_once(&self) -> String {
        self.concurrently.replace(" CONCURRENTLY", "")
    }
}

/// Builds an index on PostgreSQL; false while another server is building it.
pub(crate) async fn build(db: &Db, index: &AccessIndex) -> Result<bool, StoreError> {
    match find(db, index.name).await? {
        Some(Found { is_valid: true, .. }) => return Ok(true),
        _ if is_building(db).await? => return Ok(false),
        // The server that built it was interrupted.
        Some(broken) => {
            db.run_outside_transaction(&format!(
                "DROP INDEX CONCURRENTLY IF EXISTS {}",
                broken.name
            ))
            .await?;
        }
        None => {}
    }
    db.run_outside_transaction(index.concurrently).await?;
    // Where another server began at the same moment, the statement waited for that one, which may have failed.
    Ok(find(db, index.name).await?.is_some_and(|found| found.is_valid))
}

/// An index that exists.
pub(crate) struct Found {
    /// Qualified with its schema: the next schema of the search path may belong to another gatehouse and have an index
    /// of the same name.
    pub(crate) name: String,
    /// Whether the index was built completely.
    pub(crate) is_valid: bool,
}

/// Finds an index of the accesses.
pub(crate) async fn find(db: &Db, index: &str) -> Result<Option<Found>, StoreError> {
    let sql = match db.dialect() {
        Dialect::Sqlite => "SELECT name, 1 FROM sqlite_schema WHERE type = 'index' AND name = ?1",
        Dialect::Postgres => {
            "SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname), \
             CAST(CASE WHEN i.indisvalid THEN 1 ELSE 0 END AS BIGINT) \
             FROM pg_catalog.pg_index i \
             JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE i.indrelid = to_regclass('access') AND CAST(c.relname AS TEXT) = ?1"
        }
    };
    let read = |row: &Row<'_>| Ok(Found { name: row.text(0)?, is_valid: row.integer(1)? == 1 });
    db.row(sql, &[index.into()], read).await
}

/// Whether an index of the accesses is being built, as far as this role may see.
async fn is_building(db: &Db) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM pg_catalog.pg_stat_progress_create_index \
               WHERE datname = current_database() \
               AND (relid IS NULL OR relid = to_regclass('access')) LIMIT 1";
    Ok(db.row(sql, &[], |_| Ok(())).await?.is_some())
}
