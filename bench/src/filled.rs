//! Filled stores, which later runs reuse.
//!
//! A filled SQLite store stays in the target directory. A marker, written last, describes it; a store with another
//! schema or another fleet, or an old one, is filled anew. PostgreSQL runs only as long as the chore that started it,
//! and is filled once per run. A measurement that writes uses a copy.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::database::Database;
use crate::failure::Failure;
use crate::fill;
use crate::fixture::Setup;
use crate::fleet::{DAY_MS, FLEET_VERSION, Fleet, NO_END_BEFORE_MS};
use crate::server::Instance;

/// A store with a fleet's accesses.
#[derive(Debug)]
pub(crate) struct FilledStore {
    pub(crate) fleet: Fleet,
    pub(crate) instance: Instance,
}

/// Marker of a complete store.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Marker {
    schema_version: i64,
    fleet_version: u64,
    latest_at: i64,
}

const MARKER: &str = "complete.json";

/// The SQLite store of a fleet of this size: an existing one, or a new one.
pub(crate) fn sqlite(
    binary: &Path,
    store_directory: &Path,
    n_accesses: u64,
    now: i64,
) -> Result<FilledStore, Failure> {
    let complete = store_directory.join(format!("sqlite-{n_accesses}"));
    let new = store_directory.join(format!("sqlite-{n_accesses}.new"));
    remove(&new)?;
    let instance =
        Instance { binary: binary.to_owned(), directory: new.clone(), database_url: None };
    // Also when nothing needs filling: only a server knows the schema's version.
    instance.initialize()?;
    let schema_version = fill::sqlite::read_schema_version(&instance.database_file())
        .map_err(Failure::during("reading the schema's version"))?;
    let complete_instance = Instance { directory: complete.clone(), ..instance.clone() };

    let marker = read_marker(&complete).filter(|marker| is_usable(marker, schema_version, now));
    if let Some(Marker { latest_at, .. }) = marker {
        remove(&new)?;
        eprintln!("bench: {n_accesses} accesses are reused from an earlier run");
        return Ok(FilledStore {
            fleet: Fleet { n_accesses, latest_at },
            instance: complete_instance,
        });
    }

    let fleet = Fleet { n_accesses, latest_at: now };
    time_filling(n_accesses, || {
        fill::sqlite::fill(&instance.database_file(), fleet)
            .map_err(Failure::during("filling SQLite"))
    })?;
    let marker = Marker { schema_version, fleet_version: FLEET_VERSION, latest_at: now };
    write_marker(&new, &marker)?;
    remove(&complete)?;
    fs::rename(&new, &complete).map_err(|cause| Failure::of_path(&complete, &cause))?;
    Ok(FilledStore { fleet, instance: complete_instance })
}

/// The PostgreSQL database of a fleet of this size: an existing one, or a new one.
pub(crate) fn postgres(
    binary: &Path,
    store_directory: &Path,
    cluster_url: &str,
    n_accesses: u64,
    now: i64,
    runtime: &tokio::runtime::Runtime,
) -> Result<FilledStore, Failure> {
    let name = database_name(n_accesses);
    let directory = store_directory.join(format!("postgres-{n_accesses}"));
    let found = runtime
        .block_on(fill::postgres::find_database(cluster_url, &name))
        .map_err(Failure::during("looking for a database"))?;
    if let Some((url, latest_at)) = found {
        let instance = Instance { binary: binary.to_owned(), directory, database_url: Some(url) };
        return Ok(FilledStore { fleet: Fleet { n_accesses, latest_at }, instance });
    }
    let url = runtime
        .block_on(fill::postgres::make_database(cluster_url, &name))
        .map_err(Failure::during("making a database"))?;
    let instance =
        Instance { binary: binary.to_owned(), directory, database_url: Some(url.clone()) };
    instance.initialize()?;
    let fleet = Fleet { n_accesses, latest_at: now };
    time_filling(n_accesses, || {
        runtime
            .block_on(fill::postgres::fill(&url, fleet))
            .map_err(Failure::during("filling PostgreSQL"))
    })?;
    runtime
        .block_on(fill::postgres::mark_database(cluster_url, &name, now))
        .map_err(Failure::during("marking a database"))?;
    Ok(FilledStore { fleet, instance })
}

/// Copies a filled store, which must not be open. Replaces an older copy of this name.
pub(crate) fn copy(
    setup: &Setup,
    database: &Database,
    store: &FilledStore,
    name: &str,
) -> Result<FilledStore, Failure> {
    let directory = setup.store_directory.join(format!("{}-{name}", database.kind().as_str()));
    remove(&directory)?;
    copy_files(&store.instance.directory, &directory)?;
    let database_url = match database {
        Database::Sqlite => None,
        Database::Postgres { url, runtime, .. } => {
            let (from, to) = (database_name(store.fleet.n_accesses), format!("bench_{name}"));
            let copied = runtime.block_on(fill::postgres::copy_database(url, &from, &to));
            Some(copied.map_err(Failure::during("copying a database"))?)
        }
    };
    let instance = Instance { directory, database_url, ..store.instance.clone() };
    Ok(FilledStore { fleet: store.fleet, instance })
}

/// A store with the tenant and its contracts, and without accesses.
pub(crate) fn empty(setup: &Setup, database: &Database) -> Result<Instance, Failure> {
    let directory = setup.store_directory.join(format!("{}-empty", database.kind().as_str()));
    remove(&directory)?;
    let database_url = match database {
        Database::Sqlite => None,
        Database::Postgres { url, runtime, .. } => {
            let made = runtime.block_on(fill::postgres::make_database(url, "bench_empty"));
            Some(made.map_err(Failure::during("making a database"))?)
        }
    };
    let instance = Instance { binary: setup.binary.clone(), directory, database_url };
    instance.initialize()?;
    Ok(instance)
}

fn database_name(n_accesses: u64) -> String {
    format!("bench_{n_accesses}")
}

fn copy_files(from: &Path, to: &Path) -> Result<(), Failure> {
    let copied = fs::create_dir_all(to).and_then(|()| fs::read_dir(from)).and_then(|entries| {
        for entry in entries {
            let entry = entry?;
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
        Ok(())
    });
    copied.map_err(|cause| Failure::of_path(to, &cause))
}

fn time_filling(
    n_accesses: u64,
    fill: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    eprintln!("bench: writing {n_accesses} accesses");
    let start = Instant::now();
    fill()?;
    eprintln!("bench: {n_accesses} accesses are written after {} s", start.elapsed().as_secs());
    Ok(())
}

/// Whether an existing store equals a new one. Leaves a day for the run.
fn is_usable(marker: &Marker, schema_version: i64, now: i64) -> bool {
    marker.schema_version == schema_version
        && marker.fleet_version == FLEET_VERSION
        && (marker.latest_at..marker.latest_at + NO_END_BEFORE_MS - DAY_MS).contains(&now)
}

/// The marker of a store; `None` if it is missing or unreadable.
fn read_marker(directory: &Path) -> Option<Marker> {
    serde_json::from_slice(&fs::read(directory.join(MARKER)).ok()?).ok()
}

fn write_marker(directory: &Path, marker: &Marker) -> Result<(), Failure> {
    let path: PathBuf = directory.join(MARKER);
    let text = serde_json::to_string(marker).map_err(io::Error::other);
    text.and_then(|text| fs::write(&path, text)).map_err(|cause| Failure::of_path(&path, &cause))
}

pub(crate) fn remove(directory: &Path) -> Result<(), Failure> {
    match fs::remove_dir_all(directory) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
            Err(Failure::of_path(directory, &cause))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_reused_while_a_new_one_would_be_equal() {
        let marker = Marker { schema_version: 2, fleet_version: FLEET_VERSION, latest_at: 0 };
        let older_fleet = Marker { fleet_version: FLEET_VERSION - 1, ..marker };
        #[rustfmt::skip]
        let cases = [
            // marker       schema  now            usable
            (&marker,       2,      DAY_MS,        true),
            (&marker,       3,      DAY_MS,        false),
            (&older_fleet,  2,      DAY_MS,        false),
            (&marker,       2,      30 * DAY_MS,   false),
            (&marker,       2,      -DAY_MS,       false),
        ];
        for (marker, schema_version, now, usable) in cases {
            assert_eq!(is_usable(marker, schema_version, now), usable, "{marker:?} at {now}");
        }
    }
}
