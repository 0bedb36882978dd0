//! The journals: events are numbered right after their commit, and deleted when they are old enough.
//!
//! Every server takes part. A transaction that numbers a tenant's events locks its journal, so servers take turns; one
//! that is killed leaves the rest to the others.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::Timestamp;
use gatehouse_store::{ChainKey, JournalKind, StoreError};
use gatehouse_vault::JournalKey;
use tokio_util::sync::CancellationToken;

use super::retry::Retries;
use crate::app::App;

/// Longest time until events of other servers' writes are numbered, should those be gone.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Pause after events were numbered: those of the meantime are numbered together.
const GATHER: Duration = Duration::from_millis(20);

/// Pause after a failure.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Time between two looks for tenants without a journal, and for old events.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(60);

/// Time between two looks while servers of an older version may run.
const UPGRADE_INTERVAL: Duration = Duration::from_secs(2);

/// The key of the journals' chains, as the store uses it.
pub(crate) fn chain_key(key: JournalKey) -> ChainKey {
    let signing = Arc::new(key);
    let verifying = Arc::clone(&signing);
    ChainKey::new(move |bytes| signing.sign(bytes), move |bytes, mac| verifying.verify(bytes, mac))
}

impl App {
    /// Numbers events of every tenant that has some without numbers; true if there may be more.
    pub async fn number_events(&self) -> Result<bool, StoreError> {
        let n_with_more = self.store.number_events(&self.chain_key).await?;
        self.event_watch.wake();
        self.wake_deliveries();
        Ok(n_with_more > 0)
    }
}

/// Numbers events, until the server stops.
pub(super) async fn number(app: App, stopping: CancellationToken) {
    let steps = async {
        loop {
            match app.number_events().await {
                Ok(true) => tokio::task::yield_now().await,
                Ok(false) => {
                    _ = tokio::time::timeout(POLL_INTERVAL, app.store.until_committed()).await;
                    tokio::time::sleep(GATHER).await;
                }
                Err(error) => {
                    tracing::debug!(%error, "events are numbered again in a second");
                    tokio::time::sleep(RETRY_INTERVAL).await;
                }
            }
        }
    };
    stopping.run_until_cancelled(steps).await;
}

/// Begins the journals of tenants that have none, and deletes old events, until the server stops.
pub(super) async fn keep_up(app: App, stopping: CancellationToken) {
    let mut retries = Retries::new("journals can't be begun or shortened now");
    let steps = async {
        loop {
            let has_begun = retries.check(app.store.begin_journals(&app.chain_key).await).await;
            for kind in JournalKind::ALL {
                let before: Timestamp = app.events.kept_from(kind, app.now());
                let delete =
                    async || app.store.delete_old_events(kind, before, &app.chain_key).await;
                while retries.check(delete().await).await == Some(true) {}
            }
            let is_complete = has_begun.unwrap_or_default();
            let pause = if is_complete { UPKEEP_INTERVAL } else { UPGRADE_INTERVAL };
            tokio::time::sleep(pause).await;
        }
    };
    stopping.run_until_cancelled(steps).await;
}
