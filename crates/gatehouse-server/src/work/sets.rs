//! Building the counted sets, which lists by status and label need to be fast: after an upgrade, and when an operator
//! changes the keys of labels that a tenant filters by.
//!
//! Until the sets are complete, such lists read the accesses one by one. Every server takes part.

use gatehouse_store::{SetBuilding, Store};
use tokio_util::sync::CancellationToken;

use super::retry::{PAUSE, Retries};

/// Builds the sets of all tenants, until the server stops.
pub(super) async fn build(store: Store, stopping: CancellationToken) {
    let mut retries = Retries::new("the sets of accesses can't be built now");
    let (mut logged, mut n_steps) = (None, 0_u64);
    let steps = async {
        loop {
            let Some(progress) = retries.check(store.advance_sets().await).await else { continue };
            // A new tenant takes one step, which needs no line.
            let is_worth_a_line = match progress {
                SetBuilding::Complete => logged.is_some(),
                SetBuilding::Building => n_steps > 1,
                SetBuilding::OlderServer => true,
            };
            if is_worth_a_line && logged.replace(progress) != Some(progress) {
                log(progress);
            }
            n_steps += 1;
            match progress {
                SetBuilding::Complete => {
                    (logged, n_steps) = (None, 0);
                    until_changed(&store).await;
                }
                SetBuilding::Building => tokio::task::yield_now().await,
                SetBuilding::OlderServer => tokio::time::sleep(PAUSE).await,
            }
        }
    };
    stopping.run_until_cancelled(steps).await;
}

/// Returns when there may be new sets to build.
async fn until_changed(store: &Store) {
    let changed = store.until_sets_change();
    if store.is_shared() {
        // Another server may have changed a tenant, which isn't announced to this one.
        _ = tokio::time::timeout(PAUSE, changed).await;
    } else {
        changed.await;
    }
}

fn log(progress: SetBuilding) {
    match progress {
        SetBuilding::Complete => tracing::info!(
            "lists by status and label are fast now: the sets of all tenants are built"
        ),
        SetBuilding::Building => {
            tracing::info!("the sets of accesses by status and label are being built")
        }
        SetBuilding::OlderServer => tracing::info!(
            "the sets of accesses by status are built soon after the last server of an older version is gone"
        ),
    }
}
