//! Moving an estate from a data directory to PostgreSQL: holding the directory, opening the store in it, and
//! taking its keys along. What is copied, and how it is compared, the store knows.

use std::io;
use std::path::PathBuf;

use futures_util::future::BoxFuture;
use gatehouse_store::{
    Clock, DatabaseUrl, NotTransferred, Store, StoreError, TransferProgress, TransferResult,
};

use crate::config::Config;
use crate::data_dir;
use crate::keys::{self, KeysError};

/// Why an estate was not moved. It says what to do.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// There is nothing to move.
    #[error(
        "there is no store in {}: give the data directory of a gatehouse, or the file gatehouse.db in it, as \
         sqlite:PATH",
        .0.display()
    )]
    NoStore(PathBuf),
    /// The data directory can't be held.
    #[error("data directory {}: {cause}", path.display())]
    DataDir {
        /// Which.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// What a server writes meanwhile would stay behind.
    #[error("another gatehouse uses the data directory {}: stop it, then migrate", .0.display())]
    InUse(PathBuf),
    /// The store can't be opened.
    #[error("the source: {}", .0.explained())]
    Store(#[from] StoreError),
    /// The keys are not there.
    #[error("the source: {0}")]
    Keys(#[from] KeysError),
    /// The store could not do it.
    #[error(transparent)]
    NotTransferred(#[from] NotTransferred),
}

/// What lies in a data directory whose store was moved. Nothing is written there any more.
const MOVED_FILE: &str = "moved-to-postgres";

/// A data directory is given whose store is elsewhere now.
#[derive(Debug, thiserror::Error)]
#[error(
    "the store in this data directory was moved to PostgreSQL, as {} says: give that database's address \
     (database_url); to go on with what was left behind here, remove that file",
    .0.display()
)]
pub struct StoreMoved(PathBuf);

/// Refuses settings that name such a directory.
pub fn refuse_moved(config: &Config) -> Result<(), StoreMoved> {
    let path = config.data_dir.join(MOVED_FILE);
    if config.database_url.is_none() && path.exists() { Err(StoreMoved(path)) } else { Ok(()) }
}

/// Moves the estate of the settings' data directory to an empty PostgreSQL database, or goes on with that.
/// Nothing changes in the store, but a schema that is older is brought up to date; when all is moved, a file beside it
/// says so.
pub fn move_estate<'a>(
    config: &'a Config,
    target: &'a DatabaseUrl,
    clock: Clock,
    tell: &'a (dyn Fn(TransferProgress) + Send + Sync),
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
            // One after the other: a start looks at the files, and must be the only one who has them.
            store.close().await;
            Store::open_sqlite(&file, clock.clone()).await?.close().await;
            store = attach().await?;
        }
        let keys = keys::keys_to_transfer(config, &store).await?;
        let moved = store.transfer_to(target, clock, keys, tell).await;
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
