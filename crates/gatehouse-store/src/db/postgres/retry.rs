//! Retries of calls to PostgreSQL: how often, how long, and after which errors.

use std::time::Duration;

use tokio::time::Instant;

use crate::db::work::TxFailed;
use crate::error::{ErrorKind, StoreError};
use crate::meter::{Measured, StoreMeter};

/// Time in which a call waits for a connection and is retried.
pub const RETRY_WINDOW: Duration = Duration::from_secs(5);

/// Most tries of a call, the first included.
const TRIES_MAX: u32 = 4;

/// Tries of a call so far, and the end of its retry window.
pub(super) struct Tries {
    pub(super) until: Instant,
    n: u32,
}

impl Tries {
    pub(super) fn begin() -> Self {
        Self { until: Instant::now() + RETRY_WINDOW, n: 1 }
    }

    /// Counts another try, or returns the error when there may be none.
    pub(super) fn again<E>(&mut self, error: E, meter: &StoreMeter) -> Result<(), E> {
        if self.n >= TRIES_MAX || Instant::now() >= self.until {
            return Err(error);
        }
        self.n += 1;
        meter.retries.inc();
        Ok(())
    }
}

/// The database has cancelled a short statement, for whatever reason: a retry may work.
pub(super) fn cancelled() -> StoreError {
    StoreError::Unavailable("the database has cancelled the statement".into())
}

pub(super) fn is_transient(failed: &TxFailed) -> bool {
    failed.kind() == Some(ErrorKind::Unavailable)
}
