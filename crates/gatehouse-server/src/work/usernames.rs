//! Giving usernames again: a shared store gets ready for it while servers of an older version are replaced.
//!
//! Every server looks, so that each learns when it is so; the store lets one of them build.

use std::time::Duration;

use gatehouse_store::{Reuse, Store};
use tokio_util::sync::CancellationToken;

/// How often it is looked how far it is.
const LOOK: Duration = Duration::from_secs(5);

/// Gets the store ready, and ends when it is or when the server stops.
pub(super) async fn free(store: Store, stopping: CancellationToken) {
    let mut told = None;
    while !store.usernames_are_free() {
        let freed = tokio::select! {
            () = stopping.cancelled() => return,
            freed = store.free_usernames() => freed,
        };
        match freed {
            Ok(reuse) if told == Some(reuse) => {}
            Ok(reuse) => {
                told = Some(reuse);
                match reuse {
                    Reuse::Free => {
                        tracing::info!("usernames of TERMINATED accesses can be given again")
                    }
                    Reuse::Building => {
                        tracing::info!("another server builds the indexes of usernames")
                    }
                    Reuse::OlderServer => tracing::info!(
                        "usernames of TERMINATED accesses can be given again once no server of an older version is there"
                    ),
                }
            }
            Err(error) => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                tracing::warn!(%error, cause, "the indexes of usernames can't be changed now; it is tried again");
            }
        }
        tokio::select! {
            () = stopping.cancelled() => return,
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}
