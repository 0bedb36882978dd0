//! Writes when keys of hooks were last used.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::app::App;

/// Time between two writes.
const INTERVAL: Duration = Duration::from_secs(5);

/// Writes the uses until the server stops, and once more then. A use that can't be written is written later.
pub(super) async fn write(app: App, stopping: CancellationToken) {
    let mut is_over = false;
    while !is_over {
        is_over = stopping.run_until_cancelled(tokio::time::sleep(INTERVAL)).await.is_none();
        if let Err(error) = app.write_hook_uses().await {
            tracing::debug!(%error, "the last uses of hooks can't be written now");
        }
    }
}
