//! Bytes of the numbered events in the store, with their indexes.

use std::path::PathBuf;

use rusqlite::{Connection, OpenFlags};

use crate::database::Database;
use crate::failure::Failure;
use crate::fill::{self, DriverError};
use crate::server::Instance;

/// Reads the size of a store's journal while a server uses it.
pub(crate) enum JournalFile<'a> {
    Sqlite(PathBuf),
    Postgres { url: String, runtime: &'a tokio::runtime::Runtime },
}

impl<'a> JournalFile<'a> {
    pub(crate) fn of(database: &'a Database, instance: &Instance) -> Self {
        match database {
            Database::Sqlite => Self::Sqlite(instance.database_file()),
            Database::Postgres { runtime, .. } => {
                let url = instance.database_url.clone().unwrap_or_default();
                Self::Postgres { url, runtime }
            }
        }
    }

    pub(crate) fn n_bytes(&self) -> Result<u64, Failure> {
        let n_bytes = match self {
            Self::Sqlite(path) => n_bytes(path),
            Self::Postgres { url, runtime } => {
                runtime.block_on(fill::postgres::with_client(url, async |client| {
                    let sql = "SELECT pg_total_relation_size('event')";
                    Ok(client.query_one(sql, &[]).await?.try_get::<_, i64>(0)?)
                }))
            }
        };
        n_bytes.map(i64::unsigned_abs).map_err(Failure::during("measuring the journal"))
    }
}

fn n_bytes(path: &PathBuf) -> Result<i64, DriverError> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let sql = "SELECT SUM(d.pgsize) FROM sqlite_schema s \
               JOIN dbstat d ON d.name = s.name AND d.aggregate = TRUE WHERE s.tbl_name = 'event'";
    Ok(connection.query_row(sql, [], |row| row.get(0))?)
}
