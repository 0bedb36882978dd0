//! Building the index of ends, which lists by `endDateTime` need to be fast: once, on a shared store that is older than
//! the index.

use gatehouse_store::Store;
use tokio_util::sync::CancellationToken;

use super::retry::{PAUSE, Retries};

/// Builds the index, until it is complete or the server stops.
pub(super) async fn build(store: Store, stopping: CancellationToken) {
    let mut retries = Retries::new("the index of ends can't be built now");
    let steps = async {
        loop {
            match retries.check(store.build_end_index().await).await {
                Some(true) => return,
                Some(false) => tokio::time::sleep(PAUSE).await,
                None => {}
            }
        }
    };
    stopping.run_until_cancelled(steps).await;
}
