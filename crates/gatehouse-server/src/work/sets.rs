//! Building the counted sets, which lists by status and label need to be fast: after an upgrade, and when an operator
//! changes the keys of labels that a tenant filters by.
//!
//! Until the sets are complete, such lists read the accesses one by one. Every server takes part.

use std::time::Duration;

use gatehouse_store::{SetBuilding, Store};
use tokio_util::sync::CancellationToken;

/// Wait while a server of an older version is there, and until a look for new tenants.
const PAUSE: Duration = Duration::from_secs(5);

/// Longest wait after failed steps.
const PAUSE_MAX: Duration = Duration::from_secs(5 * 60);

/// Builds the sets of all tenants, until the server stops.
pub(super) async fn build(store: Store, stopping: CancellationToken) {
    let (mut logged, mut pause, mut n_steps) = (None, PAUSE, 0_u64);
    loop {
        let advanced = tokio::select! {
            biased;
            () = stopping.cancelled() => return,
            advanced = store.advance_sets() => advanced,
        };
        match advanced {
            Ok(SetBuilding::Complete) => {
                n_steps = 0;
                if logged.take().is_some() {
                    tracing::info!(
                        "lists by status and label are fast now: the sets of all tenants are built"
                    );
                }
            }
            Ok(progress) => {
                // A new tenant takes one step, which needs no line.
                let is_worth_a_line = progress == SetBuilding::OlderServer || n_steps > 1;
                if is_worth_a_line && logged != Some(progress) {
                    log(progress);
                    logged = Some(progress);
                }
                pause = PAUSE;
                n_steps += 1;
                if progress == SetBuilding::Building {
                    tokio::task::yield_now().await;
                    continue;
                }
            }
            Err(error) => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                tracing::warn!(%error, cause, "the sets of accesses can't be built now; it is tried again");
                pause = (pause * 2).min(PAUSE_MAX);
            }
        }
        // Another server may have changed a tenant; an embedded store has no other.
        let is_idle = logged.is_none() && pause == PAUSE && !store.is_shared();
        let pause = async move {
            if is_idle {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(pause).await;
        };
        tokio::select! {
            biased;
            () = stopping.cancelled() => return,
            () = store.until_sets_change() => {}
            () = pause => {}
        }
    }
}

fn log(progress: SetBuilding) {
    match progress {
        SetBuilding::Complete => {}
        SetBuilding::Building => {
            tracing::info!("the sets of accesses by status and label are being built")
        }
        SetBuilding::OlderServer => tracing::info!(
            "the sets of accesses by status are built soon after the last server of an older version is gone"
        ),
    }
}
