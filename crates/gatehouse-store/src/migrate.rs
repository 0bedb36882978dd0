//! Schema migrations, step by step. The first server that starts takes the steps; the others wait and find them taken.
//!
//! A released step is never changed: a new one follows it. Since version 8 a step only adds, so that older programs
//! continue to work during an upgrade. Each step names the oldest version that a program must know.

pub(crate) mod access_index;
pub(crate) mod older_servers;
pub(crate) mod schema_lock;

use std::time::Duration;

use crate::access::{time_indexes, username_reuse};
use crate::counted_sets::building;
use crate::db::{Db, Dialect, Tx, WriteKind};
use crate::error::StoreError;
use crate::journal::beginning;

/// One step, in each database's SQL.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    pub(crate) version: i64,
    /// The oldest schema version that a program must know to work with this one.
    pub(crate) needs: i64,
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

/// The first version with a minimum for programs.
const SIDE_BY_SIDE: i64 = 8;

/// Most tries of the steps while other transactions hold the locks that they need.
const LOCK_TRIES_MAX: u32 = 40;

/// Pause between two tries, in which other transactions may run.
const LOCK_PAUSE: Duration = Duration::from_millis(500);

pub(crate) const STEPS: &[Step] = &[
    Step {
        version: 1,
        needs: 1,
        sqlite: include_str!("../migrations/sqlite/0001_first_access.sql"),
        postgres: include_str!("../migrations/postgres/0001_first_access.sql"),
    },
    Step {
        version: 2,
        needs: 2,
        sqlite: include_str!("../migrations/sqlite/0002_lists.sql"),
        postgres: include_str!("../migrations/postgres/0002_lists.sql"),
    },
    Step {
        version: 3,
        needs: 3,
        sqlite: include_str!("../migrations/sqlite/0003_rights.sql"),
        postgres: include_str!("../migrations/postgres/0003_rights.sql"),
    },
    Step {
        version: 4,
        needs: 4,
        sqlite: include_str!("../migrations/sqlite/0004_due.sql"),
        postgres: include_str!("../migrations/postgres/0004_due.sql"),
    },
    Step {
        version: 5,
        needs: 5,
        sqlite: include_str!("../migrations/sqlite/0005_tasks.sql"),
        postgres: include_str!("../migrations/postgres/0005_tasks.sql"),
    },
    Step {
        version: 6,
        needs: 6,
        sqlite: include_str!("../migrations/sqlite/0006_accounts.sql"),
        postgres: include_str!("../migrations/postgres/0006_accounts.sql"),
    },
    Step {
        version: 7,
        needs: 7,
        sqlite: include_str!("../migrations/sqlite/0007_replicas.sql"),
        postgres: include_str!("../migrations/postgres/0007_replicas.sql"),
    },
    Step {
        version: SIDE_BY_SIDE,
        needs: SIDE_BY_SIDE,
        sqlite: include_str!("../migrations/sqlite/0008_side_by_side.sql"),
        postgres: include_str!("../migrations/postgres/0008_side_by_side.sql"),
    },
    Step {
        version: 9,
        needs: SIDE_BY_SIDE,
        sqlite: include_str!("../migrations/sqlite/0009_trust.sql"),
        postgres: include_str!("../migrations/postgres/0009_trust.sql"),
    },
    Step {
        version: 10,
        needs: 9,
        sqlite: include_str!("../migrations/sqlite/0010_usernames.sql"),
        postgres: include_str!("../migrations/postgres/0010_usernames.sql"),
    },
    Step {
        version: 11,
        needs: 10,
        sqlite: include_str!("../migrations/sqlite/0011_counted_sets.sql"),
        postgres: include_str!("../migrations/postgres/0011_counted_sets.sql"),
    },
    Step {
        version: 12,
        needs: 11,
        sqlite: include_str!("../migrations/sqlite/0012_labels.sql"),
        postgres: include_str!("../migrations/postgres/0012_labels.sql"),
    },
    Step {
        version: 13,
        needs: 12,
        sqlite: include_str!("../migrations/sqlite/0013_journal.sql"),
        postgres: include_str!("../migrations/postgres/0013_journal.sql"),
    },
    Step {
        version: 14,
        needs: 13,
        sqlite: include_str!("../migrations/sqlite/0014_audit.sql"),
        postgres: include_str!("../migrations/postgres/0014_audit.sql"),
    },
    Step {
        version: 15,
        needs: 14,
        sqlite: include_str!("../migrations/sqlite/0015_hub.sql"),
        postgres: include_str!("../migrations/postgres/0015_hub.sql"),
    },
    Step {
        version: 16,
        needs: 15,
        sqlite: include_str!("../migrations/sqlite/0016_gateways.sql"),
        postgres: include_str!("../migrations/postgres/0016_gateways.sql"),
    },
];

/// Brings the schema up to date, or refuses one that this program can't work with.
pub(crate) async fn run(db: &Db) -> Result<(), StoreError> {
    take(db, STEPS).await?;
    username_reuse::allow_at_once(db).await?;
    time_indexes::build_at_once(db).await?;
    building::begin_at_once(db).await?;
    beginning::begin_at_once(db).await
}

/// Takes these steps; tests have others than the program.
pub(crate) async fn take(db: &Db, steps: &'static [Step]) -> Result<(), StoreError> {
    make_table(db).await?;
    for _ in 1..LOCK_TRIES_MAX {
        match db.write(WriteKind::Schema, async move |tx| take_in(tx, steps).await).await {
            Err(StoreError::Locked(why)) => {
                tracing::warn!(%why, "the schema is in use; the step is tried again");
                tokio::time::sleep(LOCK_PAUSE).await;
            }
            other => return other,
        }
    }
    db.write(WriteKind::Schema, async move |tx| take_in(tx, steps).await).await
}

/// The database's schema version; `None` without a schema, and an error where this program can't work with it.
pub(crate) async fn version(db: &Db) -> Result<Option<i64>, StoreError> {
    let table = match db.dialect() {
        Dialect::Sqlite => "SELECT 1 FROM sqlite_schema WHERE name = 'schema_version'",
        Dialect::Postgres => {
            "SELECT 1 FROM pg_catalog.pg_class WHERE oid = to_regclass('schema_version')"
        }
    };
    if db.row(table, &[], |_| Ok(())).await?.is_none() {
        return Ok(None);
    }
    let found = db.row(PRESENT, &[], |row| row.integer(0)).await?.unwrap_or_default();
    let needs = match found >= SIDE_BY_SIDE {
        true => db.row(NEEDS, &[], |row| row.integer(0)).await?.unwrap_or_default(),
        false => found,
    };
    refuse_unknown(found, needs, newest())?;
    Ok(Some(found).filter(|version| *version > 0))
}

/// The newest schema version that this program knows.
pub(crate) fn newest() -> i64 {
    newest_of(STEPS)
}

fn newest_of(steps: &[Step]) -> i64 {
    steps.last().map_or(0, |step| step.version)
}

const PRESENT: &str = "SELECT COALESCE(MAX(version), 0) FROM schema_version";

const NEEDS: &str = "SELECT COALESCE(MAX(COALESCE(needs, version)), 0) FROM schema_version";

fn refuse_unknown(found: i64, needs: i64, known: i64) -> Result<(), StoreError> {
    if needs > known { Err(StoreError::NewerSchema { found, known }) } else { Ok(()) }
}

/// SQLite's table of the steps that were taken.
pub(crate) const SQLITE_VERSION_TABLE: &str =
    "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL PRIMARY KEY) STRICT";

/// Creates the table of schema versions, in its own transaction: of several concurrent servers PostgreSQL lets one
/// succeed, and the others find the table.
async fn make_table(db: &Db) -> Result<(), StoreError> {
    let made = db.write(WriteKind::Server, async |tx| {
        tx.script(match tx.dialect() {
            Dialect::Sqlite => SQLITE_VERSION_TABLE,
            Dialect::Postgres => {
                "CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL PRIMARY KEY)"
            }
        })
        .await
    });
    match made.await {
        Err(StoreError::Taken(_)) => Ok(()),
        other => other,
    }
}

/// Refuses a database whose encoding isn't UTF-8: names are in any script, and texts are ordered by their bytes.
async fn refuse_encoding(tx: &Tx) -> Result<(), StoreError> {
    let sql = "SELECT current_setting('server_encoding')";
    let encoding = tx.row(sql, &[], |row| row.text(0)).await?.unwrap_or_default();
    if encoding == "UTF8" {
        return Ok(());
    }
    Err(StoreError::Address(format!(
        "the database has the encoding {encoding}, and gatehouse needs UTF8: make one with \
         `createdb -E UTF8 -T template0`"
    )))
}

async fn take_in(tx: Tx, steps: &'static [Step]) -> Result<(), StoreError> {
    if tx.dialect() == Dialect::Postgres {
        refuse_encoding(&tx).await?;
    }
    schema_lock::take(&tx).await?;
    let found = tx.row(PRESENT, &[], |row| row.integer(0)).await?.unwrap_or_default();
    let needs = match found >= SIDE_BY_SIDE {
        true => tx.row(NEEDS, &[], |row| row.integer(0)).await?.unwrap_or_default(),
        false => found,
    };
    let known = newest_of(steps);
    refuse_unknown(found, needs, known)?;
    if found > known {
        tracing::info!(found, known, "a newer gatehouse has extended the schema; both go on");
    }
    for step in steps.iter().filter(|step| step.version > found) {
        match tx.dialect() {
            Dialect::Sqlite => tx.script(step.sqlite).await?,
            Dialect::Postgres => tx.script(step.postgres).await?,
        }
        let (version, needs) = (step.version.into(), step.needs.into());
        if step.version < SIDE_BY_SIDE {
            tx.execute("INSERT INTO schema_version (version) VALUES (?1)", &[version]).await?;
        } else {
            let sql = "INSERT INTO schema_version (version, needs) VALUES (?1, ?2)";
            tx.execute(sql, &[version, needs]).await?;
        }
        tracing::info!(version = step.version, "schema brought up to date");
    }
    Ok(())
}
