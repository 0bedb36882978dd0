//! The database under measurement.

use std::env;

use crate::failure::Failure;
use crate::fill;
use crate::store_kind::StoreKind;

/// Variable with the URL of the PostgreSQL that `cargo xtask bench` has started.
const POSTGRES_URL: &str = "BENCH_POSTGRES_URL";

pub(crate) enum Database {
    Sqlite,
    Postgres { url: String, cluster: fill::postgres::Cluster, runtime: tokio::runtime::Runtime },
}

impl Database {
    pub(crate) fn find(kind: StoreKind) -> Result<Self, Failure> {
        if kind == StoreKind::Sqlite {
            return Ok(Self::Sqlite);
        }
        let url = env::var(POSTGRES_URL).map_err(|_| {
            Failure::Usage(format!(
                "PostgreSQL is missing ({POSTGRES_URL}); use `cargo xtask bench`, or `--store sqlite`"
            ))
        })?;
        let runtime = tokio::runtime::Runtime::new()
            .map_err(|cause| Failure::Step(format!("no threads to run on: {cause}")))?;
        let cluster = runtime
            .block_on(fill::postgres::examine(&url))
            .map_err(Failure::during("looking at PostgreSQL"))?;
        Ok(Self::Postgres { url, cluster, runtime })
    }

    pub(crate) fn kind(&self) -> StoreKind {
        match self {
            Self::Sqlite => StoreKind::Sqlite,
            Self::Postgres { .. } => StoreKind::Postgres,
        }
    }

    /// A process of the database, by which its others can be found.
    pub(crate) fn process_id(&self) -> Option<i32> {
        match self {
            Self::Sqlite => None,
            Self::Postgres { cluster, .. } => Some(cluster.process_id),
        }
    }

    pub(crate) fn version(&self) -> String {
        match self {
            // The bench and the server are built from the same lock file.
            Self::Sqlite => format!("SQLite {}", rusqlite::version()),
            Self::Postgres { cluster, .. } => format!("PostgreSQL {}", cluster.version),
        }
    }
}
