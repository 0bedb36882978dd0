//! Steps that prepare the store for what a newer program can do: a failed one is tried again, after pauses that double.

use std::time::Duration;

use gatehouse_store::StoreError;

/// Wait while another server takes a step, or while one of an older version is there.
pub(super) const PAUSE: Duration = Duration::from_secs(5);

/// Longest wait after failed steps.
const PAUSE_MAX: Duration = Duration::from_secs(5 * 60);

/// Failed steps since the last one that succeeded.
pub(super) struct Retries {
    /// Logged when a step fails.
    failure: &'static str,
    pause: Duration,
}

impl Retries {
    pub(super) fn new(failure: &'static str) -> Self {
        Self { failure, pause: PAUSE }
    }

    /// A step's result; `None` after a failure, which is logged, and a pause.
    pub(super) async fn check<T>(&mut self, step: Result<T, StoreError>) -> Option<T> {
        match step {
            Ok(done) => {
                self.pause = PAUSE;
                Some(done)
            }
            Err(error) => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                tracing::warn!(%error, cause, "{}; it is tried again", self.failure);
                self.pause = (self.pause * 2).min(PAUSE_MAX);
                tokio::time::sleep(self.pause).await;
                None
            }
        }
    }
}
