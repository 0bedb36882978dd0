//! Copying an embedded store while it is used.
//!
//! SQLite writes the rows of one moment into a new file, without a log and without what was deleted, and builds the indexes
//! anew. That takes a read transaction: readers and the writer go on, but the log can't begin anew until the copy is made.

use std::path::Path;

use tokio_util::sync::CancellationToken;

use crate::Store;
use crate::error::StoreError;
use crate::integrity::open_unmapped;

/// Steps of SQLite's between two looks whether the copy is to stop.
const STEPS_BETWEEN_LOOKS: i32 = 10_000;

impl Store {
    /// Copies the embedded store, as it is at one moment, into this file, which is empty. It ends early, with an error,
    /// when `stop` is cancelled.
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
            connection.progress_handler(STEPS_BETWEEN_LOOKS, Some(stops))?;
            connection.execute("VACUUM INTO ?1", [file])?;
            Ok(())
        });
        let copied = copied.await;
        let copied = copied.map_err(|_| StoreError::Unexpected("a copy panicked".into()))?;
        if let (Err(StoreError::Disk(why)), Some(health)) = (&copied, self.db.health()) {
            // Of the store's disk or of the copy's: a look at every page tells.
            health.unreadable(&format!("a copy failed: {why}"));
        }
        copied
    }
}
