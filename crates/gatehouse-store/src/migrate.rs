//! The schema, step by step. Whoever starts first takes the steps; the others wait and find them taken.
//!
//! A step that has been released is never changed: a new one follows it.

use crate::db::{Db, Dialect, Tx};
use crate::error::StoreError;

/// One step, in the words of each database.
struct Step {
    version: i64,
    sqlite: &'static str,
    postgres: &'static str,
}

const STEPS: &[Step] = &[
    Step {
        version: 1,
        sqlite: include_str!("../migrations/sqlite/0001_first_access.sql"),
        postgres: include_str!("../migrations/postgres/0001_first_access.sql"),
    },
    Step {
        version: 2,
        sqlite: include_str!("../migrations/sqlite/0002_lists.sql"),
        postgres: include_str!("../migrations/postgres/0002_lists.sql"),
    },
    Step {
        version: 3,
        sqlite: include_str!("../migrations/sqlite/0003_rights.sql"),
        postgres: include_str!("../migrations/postgres/0003_rights.sql"),
    },
    Step {
        version: 4,
        sqlite: include_str!("../migrations/sqlite/0004_due.sql"),
        postgres: include_str!("../migrations/postgres/0004_due.sql"),
    },
    Step {
        version: 5,
        sqlite: include_str!("../migrations/sqlite/0005_tasks.sql"),
        postgres: include_str!("../migrations/postgres/0005_tasks.sql"),
    },
    Step {
        version: 6,
        sqlite: include_str!("../migrations/sqlite/0006_accounts.sql"),
        postgres: include_str!("../migrations/postgres/0006_accounts.sql"),
    },
    Step {
        version: 7,
        sqlite: include_str!("../migrations/sqlite/0007_replicas.sql"),
        postgres: include_str!("../migrations/postgres/0007_replicas.sql"),
    },
];

/// Brings the schema up to date, or refuses one that a newer gatehouse has made.
pub(crate) async fn run(db: &Db) -> Result<(), StoreError> {
    run_to(db, newest()).await
}

/// Takes the steps up to this version.
pub(crate) async fn run_to(db: &Db, version: i64) -> Result<(), StoreError> {
    db.write(async move |tx| run_in(tx, version).await).await
}

/// The version of the schema that is there, as it is; `None` where there is none, and an error where
/// a newer gatehouse has made it.
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
    let present = db.row(PRESENT, &[], |row| row.integer(0)).await?.unwrap_or_default();
    refuse_newer(present)?;
    Ok(Some(present).filter(|version| *version > 0))
}

/// The version that this program makes.
pub(crate) fn newest() -> i64 {
    STEPS.last().map_or(0, |step| step.version)
}

const PRESENT: &str = "SELECT COALESCE(MAX(version), 0) FROM schema_version";

fn refuse_newer(found: i64) -> Result<(), StoreError> {
    let known = newest();
    if found > known { Err(StoreError::NewerSchema { found, known }) } else { Ok(()) }
}

async fn run_in(tx: Tx, version: i64) -> Result<(), StoreError> {
    if tx.dialect() == Dialect::Postgres {
        // Held until the commit. SQLite's transactions are exclusive anyway.
        tx.script("SELECT pg_advisory_xact_lock(7233173838382854)").await?;
    }
    let table = "CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL PRIMARY KEY)";
    match tx.dialect() {
        Dialect::Sqlite => {
            let table = table.replace("BIGINT", "INTEGER");
            tx.script(&format!("{table} STRICT")).await?;
        }
        Dialect::Postgres => tx.script(table).await?,
    }
    let present = tx.row(PRESENT, &[], |row| row.integer(0)).await?.unwrap_or_default();
    refuse_newer(present)?;
    for step in STEPS.iter().filter(|step| (present + 1..=version).contains(&step.version)) {
        match tx.dialect() {
            Dialect::Sqlite => tx.script(step.sqlite).await?,
            Dialect::Postgres => tx.script(step.postgres).await?,
        }
        tx.execute("INSERT INTO schema_version (version) VALUES (?1)", &[step.version.into()])
            .await?;
        tracing::info!(version = step.version, "schema brought up to date");
    }
    Ok(())
}
