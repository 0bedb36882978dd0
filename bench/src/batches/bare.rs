//! The yardstick of a batch: its rows, inserted into the same table with the same indexes and with
//! nothing else, as fast as the database takes them.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use uuid::Uuid;

use crate::Database;
use crate::failure::Failure;
use crate::fill::{self, Row};
use crate::filled::{database_name, remove, trouble_with};
use crate::fleet::Access;
use crate::server::Place;

/// Where bare rows go.
pub(crate) enum Bare<'a> {
    Sqlite(Connection),
    Postgres { url: String, runtime: &'a tokio::runtime::Runtime },
}

/// Two copies of a filled store: one to serve, and one for bare rows.
pub(crate) fn copies<'a>(
    database: &'a Database,
    shelf: &Path,
    filled: &Place,
    n_accesses: u64,
) -> Result<(Place, Bare<'a>), Failure> {
    let directory = shelf.join("batches");
    remove(&directory)?;
    copy_files(&filled.directory, &directory)?;
    match database {
        Database::Sqlite => {
            let other = shelf.join("batches-bare");
            remove(&other)?;
            copy_files(&filled.directory, &other)?;
            let place = Place { directory, ..filled.clone() };
            let other = Place { directory: other, ..filled.clone() };
            let connection = open(&other.database_file());
            let connection = connection.map_err(Failure::during("opening SQLite"))?;
            Ok((place, Bare::Sqlite(connection)))
        }
        Database::Postgres { url, runtime, .. } => {
            let from = database_name(n_accesses);
            let copy = |name: &str| {
                runtime
                    .block_on(fill::postgres::copy_database(url, &from, name))
                    .map_err(Failure::during("copying a database"))
            };
            let database_url = Some(copy("bench_batches")?);
            let place = Place { directory, database_url, ..filled.clone() };
            Ok((place, Bare::Postgres { url: copy("bench_bare")?, runtime }))
        }
    }
}

impl Bare<'_> {
    /// Inserts these accesses in one transaction; tells how long that took. Making the rows is no part of
    /// it.
    pub(crate) fn insert(&mut self, job: Uuid, accesses: &[Access]) -> Result<Duration, Failure> {
        let rows: Vec<Row> = accesses.iter().map(|it| Row::made_by(it, Some(job))).collect();
        let inserted = match self {
            Self::Sqlite(connection) => insert(connection, rows),
            Self::Postgres { url, runtime } => runtime.block_on(copy(url, rows)),
        };
        inserted.map_err(Failure::during("inserting bare rows"))
    }
}

/// As the product opens it, with as much room for pages. The product moves its log beside the writer; here it
/// is moved when nobody looks at the clock.
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

fn copy_files(from: &Path, to: &Path) -> Result<(), Failure> {
    let copied = fs::create_dir_all(to).and_then(|()| fs::read_dir(from)).and_then(|entries| {
        for entry in entries {
            let entry = entry?;
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
        Ok(())
    });
    copied.map_err(|cause| trouble_with(to, &cause))
}
