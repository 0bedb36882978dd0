//! The yardstick of a batch: its bare rows, inserted into the same table with the same indexes, as fast as the database
//! accepts them.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use uuid::Uuid;

use crate::database::Database;
use crate::failure::Failure;
use crate::fill::{self, Row};
use crate::fleet::Access;
use crate::server::Instance;

pub(crate) enum Bare<'a> {
    Sqlite(Connection),
    Postgres { url: String, runtime: &'a tokio::runtime::Runtime },
}

impl<'a> Bare<'a> {
    /// Opens a store that no server has open.
    pub(crate) fn open(database: &'a Database, instance: &Instance) -> Result<Self, Failure> {
        match database {
            Database::Sqlite => {
                let connection = open(&instance.database_file());
                Ok(Self::Sqlite(connection.map_err(Failure::during("opening SQLite"))?))
            }
            Database::Postgres { runtime, .. } => {
                let url = instance.database_url.clone().unwrap_or_default();
                Ok(Self::Postgres { url, runtime })
            }
        }
    }

    /// The rows of these accesses, ready to be inserted.
    pub(crate) fn rows(job: Uuid, accesses: &[Access]) -> Vec<Row> {
        accesses.iter().map(|it| Row::made_by(it, Some(job))).collect()
    }

    /// Inserts rows in one transaction; returns the duration.
    pub(crate) fn insert(&mut self, rows: Vec<Row>) -> Result<Duration, Failure> {
        let inserted = match self {
            Self::Sqlite(connection) => insert(connection, rows),
            Self::Postgres { url, runtime } => runtime.block_on(copy(url, rows)),
        };
        inserted.map_err(Failure::during("inserting bare rows"))
    }
}

/// Opens the store as the server does, with as large a page cache. The server checkpoints concurrently; here
/// checkpoints run outside the measured time.
fn open(path: &Path) -> Result<Connection, fill::DriverError> {
    let connection = Connection::open(path)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;
         PRAGMA cache_size = -65536; PRAGMA wal_autocheckpoint = 0;",
    )?;
    Ok(connection)
}

fn insert(connection: &Connection, rows: Vec<Row>) -> Result<Duration, fill::DriverError> {
    let begun = Instant::now();
    connection.execute_batch("BEGIN IMMEDIATE")?;
    fill::sqlite::insert(connection, rows.into_iter())?;
    connection.execute_batch("COMMIT")?;
    let took = begun.elapsed();
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
    Ok(took)
}

async fn copy(url: &str, rows: Vec<Row>) -> Result<Duration, fill::DriverError> {
    fill::postgres::with_client(url, async |client| {
        let begun = Instant::now();
        fill::postgres::copy(client, rows.into_iter()).await?;
        Ok(begun.elapsed())
    })
    .await
}
