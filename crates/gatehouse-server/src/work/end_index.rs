//! Building the index of ends, which lists by `endDateTime` need to be fast: once, on a shared store that is older than
//! the index.

use std::time::Duration;

use gatehouse_store::Store;
use tokio_util::sync::CancellationToken;

/// Wait while another server builds it.
const PAUSE: Duration = Duration::from_secs(5);

/// Longest wait after a failure.
const PAUSE_MAX: Duration = Duration::from_secs(5 * 60);

/// Builds the index, until it is complete or the server stops.
pub(super) async fn build(store: Store, stopping: CancellationToken) {
    let mut pause = PAUSE;
    loop {
        let built = tokio::select! {
            biased;
            () = stopping.cancelled() => return,
            built = store.build_end_index() => built,
        };
        match built {
            Ok(true) => return,
            Ok(false) => pause = PAUSE,
            Err(error) => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                tracing::warn!(%error, cause, "the index of ends can't be built now; it is tried again");
                pause = (pause * 2).min(PAUSE_MAX);
            }
        }
        tokio::select! {
            biased;
            () = stopping.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}
