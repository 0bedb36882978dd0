//! The index of ends, by which lists by `endDateTime` are counted without a look at the rows.
//!
//! An access without an end is not in it. Where there are no accesses yet, and in an embedded store, it is built when
//! the store is opened; on PostgreSQL a server builds it while all others go on.

use crate::Store;
use crate::db::{Db, Dialect, WriteKind};
use crate::error::StoreError;
use crate::migrate::access_index::{AccessIndex, build, find};
use crate::migrate::{older_servers, schema_lock};

/// The index. It has all that such a list reads.
pub(crate) const INDEX: AccessIndex = AccessIndex {
    name: "access_end",
    concurrently: "CREATE INDEX CONCURRENTLY IF NOT EXISTS access_end \
                   ON access (tenant, end_at, number) WHERE end_at IS NOT NULL",
};

/// Builds the index at once where no client has to wait for it.
pub(crate) async fn build_at_once(db: &Db) -> Result<(), StoreError> {
    if find(db, INDEX.name).await?.is_some() || !older_servers::are_impossible(db).await? {
        return Ok(());
    }
    let built = db.write(WriteKind::Schema, async move |tx| {
        schema_lock::take(&tx).await?;
        tx.script(&INDEX.at_once()).await
    });
    match built.await {
        // The running server continues with it.
        Err(StoreError::Locked(_)) => Ok(()),
        built => built,
    }
}

impl Store {
    /// Builds the index beside running servers, if it is missing; returns whether it is complete. While another server
    /// is building it, it is not.
    pub async fn build_end_index(&self) -> Result<bool, StoreError> {
        match self.db.dialect() {
            Dialect::Sqlite => Ok(true),
            Dialect::Postgres => build(&self.db, &INDEX).await,
        }
    }
}
