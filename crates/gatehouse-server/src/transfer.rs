//! Moving a store and its keys from a data directory to PostgreSQL. The store copies and compares the data.

use std::io;
use std::path::PathBuf;

use futures_util::future::BoxFuture;
use gatehouse_store::{
    Clock, DatabaseUrl, NotTransferred, Store, StoreError, TransferProgress, TransferResult,
};

use crate::config::Config;
use crate::data_dir;
use crate::keys::{self, KeysError};

/// Why a store was not moved, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// There is no store.
    #[error(
        "there is no store in {}: give the data directory of a gatehouse, or the file gatehouse.db in it, as \
         sqlite:PATH",
        .0.display()
    )]
    NoStore(PathBuf),
    /// The data directory can't be locked.
    #[error("data directory {}: {cause}", path.display())]
    DataDir {
        /// The path.
        path: PathBuf,
        /// The cause.
        cause: io::Error,
    },
    /// A running server's writes would be lost.
    #[error("another gatehouse uses the data directory {}: stop it, then migrate", .0.display())]
    InUse(PathBuf),
    /// The store can't be opened.
    #[error("the source: {}", .0.explained())]
    Store(#[from] StoreError),
    /// The keys can't be used.
    #[error("the source: {0}")]
    Keys(#[from] KeysError),
    /// The transfer failed.
    #[error(transparent)]
    NotTransferred(#[from] NotTransferred),
}

/// Marker file in a data directory whose store was moved: no server writes there.
const MOVED_FILE: &str = "moved-to-postgres";

/// The data directory's store was moved to PostgreSQL.
#[derive(Debug, thiserror::Error)]
#[error(
    "the store in this data directory was moved to PostgreSQL, as {} says: give that database's address \
     (database_url); to use the old store here, remove that file",
    .0.display()
)]
pub struct StoreMoved(PathBuf);

/// Refuses a data directory whose store was moved.
pub fn refuse_moved(config: &Config) -> Result<(), StoreMoved> {
    let path = config.data_dir.join(MOVED_FILE);
    if config.database_url.is_none() && path.exists() { Err(StoreMoved(path)) } else { Ok(()) }
}

/// Moves the store in the data directory to an empty PostgreSQL database, or continues an interrupted move. The source
/// stays as it is, except that an old schema is migrated; at the end, a marker file is written beside it.
pub fn move_estate<'a>(
    config: &'a Config,
    target: &'a DatabaseUrl,
    clock: Clock,
    report: &'a (dyn Fn(TransferProgress) + Send + Sync),
) -> BoxFuture<'a, Result<TransferResult, TransferError>> {
    Box::pin(async move {
        let (dir, file) = (&config.data_dir, config.database_file());
        let no_store = || TransferError::NoStore(dir.clone());
        if !file.is_file() {
            return Err(no_store());
        }
        let held = data_dir::lock(dir)
            .map_err(|cause| TransferError::DataDir { path: dir.clone(), cause })?;
        let _lock = held.ok_or_else(|| TransferError::InUse(dir.clone()))?;
        let attach =
            async || Store::attach_sqlite(&file, clock.clone()).await?.ok_or_else(no_store);
        let mut store = attach().await?;
        let (found, newest) = store.schema_versions().await?;
        if found < newest {
            // Close first: a migration must be the only user of the files.
            store.close().await;
            Store::open_sqlite(&file, clock.clone()).await?.close().await;
            store = attach().await?;
        }
        let keys = keys::keys_to_transfer(config, &store).await?;
        let moved = store.transfer_to(target, clock, keys, report).await;
        store.close().await;
        let moved = moved?;
        if !matches!(moved, TransferResult::Differs(_)) {
            let (path, text) = (dir.join(MOVED_FILE), format!("moved to {target}\n"));
            let written = std::fs::write(&path, text);
            written.map_err(|cause| TransferError::DataDir { path, cause })?;
        }
        Ok(moved)
    })
}
