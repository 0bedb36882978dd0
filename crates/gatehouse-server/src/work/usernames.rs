//! Enabling the reuse of usernames: a shared store prepares for it while servers of an older version are replaced.
//!
//! Every server takes part, so that each learns when usernames can be reused.

use gatehouse_store::{Store, UsernameReuse};
use tokio_util::sync::CancellationToken;

use super::retry::{PAUSE, Retries};

/// Prepares the store, until usernames can be reused or the server stops.
pub(super) async fn enable_reuse(store: Store, stopping: CancellationToken) {
    let mut retries = Retries::new("the indexes of usernames can't be changed now");
    let mut logged = None;
    let steps = async {
        while !store.reuses_usernames() {
            let Some(reuse) = retries.check(store.advance_username_reuse().await).await else {
                continue;
            };
            if logged.replace(reuse) != Some(reuse) {
                log(reuse);
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    stopping.run_until_cancelled(steps).await;
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
