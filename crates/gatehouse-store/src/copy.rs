//! Copying an embedded store while it is in use.
//!
//! SQLite writes the rows of one snapshot into a new file, without a log and without deleted data, and rebuilds the
//! indexes. The copy is a read transaction: readers and the writer continue, but the log can't restart until the copy
//! is complete.

use std::path::Path;

use tokio_util::sync::CancellationToken;

use crate::Store;
use crate::error::StoreError;
use crate::integrity::open_unmapped;

/// Steps of SQLite's virtual machine between two checks of the cancellation.
const STEPS_BETWEEN_CHECKS: i32 = 10_000;

impl Store {
    /// Copies one snapshot of the embedded store into this empty file. Returns an error soon after `stop` is cancelled.
    pub async fn copy_to(&self, file: &Path, stop: &CancellationToken) -> Result<(), StoreError> {
        let from = self.db.sqlite_file().ok_or_else(|| {
            StoreError::Address("a PostgreSQL database is saved with pg_dump".into())
        })?;
        let (from, file, stop) = (from.to_owned(), file.to_owned(), stop.clone());
        let copied = tokio::task::spawn_blocking(move || {
            let file = file.to_str().ok_or_else(|| {
                StoreError::Address("the name of the copy must be UTF-8".to_owned())
            })?;
            let mut connection = open_unmapped(&from)?;
            let stops = move || stop.is_cancelled();
            connection.progress_handler(STEPS_BETWEEN_CHECKS, Some(stops))?;
            connection.execute("VACUUM INTO ?1", [file])?;
            Ok(())
        });
        let copied = copied.await;
        let copied = copied.map_err(|_| StoreError::Unexpected("a copy panicked".into()))?;
        if let (Err(StoreError::Disk(why)), Some(health)) = (&copied, self.db.health()) {
            // The failed disk may be the store's or the copy's. A full check will tell.
            health.unreadable(&format!("a copy failed: {why}"));
        }
        copied
    }
}
