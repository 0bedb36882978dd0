//! Enabling the reuse of usernames: a shared store prepares for it while servers of an older version are replaced.
//!
//! Every server takes part, so that each learns when usernames can be reused.

use std::time::Duration;

use gatehouse_store::{Store, UsernameReuse};
use tokio_util::sync::CancellationToken;

/// Wait between two steps.
const PAUSE: Duration = Duration::from_secs(5);

/// Longest wait after failed steps.
const PAUSE_MAX: Duration = Duration::from_secs(5 * 60);

/// Prepares the store, until usernames can be reused or the server stops.
pub(super) async fn enable_reuse(store: Store, stopping: CancellationToken) {
    let (mut logged, mut pause) = (None, PAUSE);
    while !store.reuses_usernames() {
        let advanced = tokio::select! {
            biased;
            () = stopping.cancelled() => return,
            advanced = store.advance_username_reuse() => advanced,
        };
        match advanced {
            Ok(reuse) => {
                if logged != Some(reuse) {
                    log(reuse);
                }
                (logged, pause) = (Some(reuse), PAUSE);
            }
            Err(error) => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                tracing::warn!(%error, cause, "the indexes of usernames can't be changed now; it is tried again");
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

fn log(reuse: UsernameReuse) {
    match reuse {
        UsernameReuse::Allowed => {
            tracing::info!("usernames of TERMINATED accesses can be given again")
        }
        UsernameReuse::BuildingIndexes => {
            tracing::info!("another server builds the indexes of usernames")
        }
        UsernameReuse::OlderServer => tracing::info!(
            "usernames of TERMINATED accesses can be given again soon after the last server of an older version is gone"
        ),
    }
}
