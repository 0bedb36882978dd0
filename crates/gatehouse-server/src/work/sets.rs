//! Building the counted sets after an upgrade: lists by status need them to be fast.
//!
//! Until a tenant's sets are complete, its lists by status read the accesses one by one. Every server takes part.

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
                        "lists by status are fast now: the sets of all tenants are built"
                    );
                }
                // An embedded store has no tenants without sets from now on.
                if !store.is_shared() {
                    return;
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
        tokio::select! {
            biased;
            () = stopping.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

fn log(progress: SetBuilding) {
    match progress {
        SetBuilding::Complete => {}
        SetBuilding::Building => tracing::info!("the sets of accesses by status are being built"),
        SetBuilding::OlderServer => tracing::info!(
            "the sets of accesses by status are built soon after the last server of an older version is gone"
        ),
    }
}
