//! Building the indexes of starts and ends, which lists by `startDateTime` and `endDateTime` need to be fast: once, on a
//! shared store that is older than they are.

use gatehouse_store::Store;
use tokio_util::sync::CancellationToken;

use super::retry::{PAUSE, Retries};

/// Builds the indexes, until they are complete or the server stops.
pub(super) async fn build(store: Store, stopping: CancellationToken) {
    let mut retries = Retries::new("the indexes of starts and ends can't be built now");
    let steps = async {
        loop {
            match retries.check(store.build_time_indexes().await).await {
                Some(true) => return,
                Some(false) => tokio::time::sleep(PAUSE).await,
                None => {}
            }
        }
    };
    stopping.run_until_cancelled(steps).await;
}
