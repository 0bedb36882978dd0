//! Giving usernames again: a shared store gets ready for it while servers of an older version are replaced.
//!
//! Every server takes part, so that each of them learns when usernames are free.

use std::time::Duration;

use gatehouse_store::{Store, UsernameReuse};
use tokio_util::sync::CancellationToken;

/// How long a server waits between two steps.
const PAUSE: Duration = Duration::from_secs(5);

/// How long it waits at most after steps that failed.
const PAUSE_MAX: Duration = Duration::from_secs(5 * 60);

/// Gets the store ready. It ends when usernames are free, or when the server stops.
pub(super) async fn free(store: Store, stopping: CancellationToken) {
    let (mut told, mut pause) = (None, PAUSE);
    while !store.reuses_usernames() {
        let freed = tokio::select! {
            biased;
            () = stopping.cancelled() => return,
            freed = store.advance_username_reuse() => freed,
        };
        match freed {
            Ok(reuse) => {
                if told != Some(reuse) {
                    tell(reuse);
                }
                (told, pause) = (Some(reuse), PAUSE);
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

fn tell(reuse: UsernameReuse) {
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
