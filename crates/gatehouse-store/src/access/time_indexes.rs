//! The indexes of starts and ends, by which lists by `startDateTime` and `endDateTime` are counted without a look at the
//! rows.
//!
//! An access without such a time is not in its index. Where there are no accesses yet, and in an embedded store, they are
//! built when the store is opened; on PostgreSQL a server builds them while all others go on.

use crate::Store;
use crate::db::{Db, Dialect, WriteKind};
use crate::error::StoreError;
use crate::migrate::access_index::{AccessIndex, build, find};
use crate::migrate::{older_servers, schema_lock};

/// The indexes. Each has all that such a list reads.
const INDEXES: [AccessIndex; 2] = [
    AccessIndex {
        name: "access_end",
        concurrently: "CREATE INDEX CONCURRENTLY IF NOT EXISTS access_end \
                       ON access (tenant, end_at, number) WHERE end_at IS NOT NULL",
    },
    AccessIndex {
        name: "access_start",
        concurrently: "CREATE INDEX CONCURRENTLY IF NOT EXISTS access_start \
                       ON access (tenant, start_at, number) WHERE start_at IS NOT NULL",
    },
];

/// Builds the indexes at once where no client has to wait for them.
pub(crate) async fn build_at_once(db: &Db) -> Result<(), StoreError> {
    for index in INDEXES {
        if find(db, index.name).await?.is_some() || !older_servers::are_impossible(db).await? {
            continue;
        }
        let built = db.write(WriteKind::Schema, async move |tx| {
            schema_lock::take(&tx).await?;
            tx.script(&index.at_once()).await
        });
        match built.await {
            // The running server continues with it.
            Err(StoreError::Locked(_)) => return Ok(()),
            built => built?,
        }
    }
    Ok(())
}

impl Store {
    /// Builds the indexes beside running servers, if they are missing; returns whether they are complete. While another
    /// server is building one, they are not.
    pub async fn build_time_indexes(&self) -> Result<bool, StoreError> {
        if self.db.dialect() == Dialect::Sqlite {
            return Ok(true);
        }
        for index in &INDEXES {
            if !build(&self.db, index).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
