//! Writes what is counted for the audit: tokens and refused requests.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::app::App;

/// Time between two writes.
const INTERVAL: Duration = Duration::from_secs(1);

/// Writes what is due, until the server stops. A write is never interrupted: its entries would be lost.
pub(super) async fn write_counts(app: App, stopping: CancellationToken) {
    let mut is_logged = false;
    while stopping.run_until_cancelled(tokio::time::sleep(INTERVAL)).await.is_some() {
        match app.write_audit_counts(false).await {
            Ok(()) => is_logged = false,
            // Logged once per outage.
            Err(error) if !is_logged => {
                tracing::warn!(%error, "tokens and refused requests can't be written into the audit now");
                is_logged = true;
            }
            Err(_) => {}
        }
    }
}

/// Writes and numbers the rest, when the last request is done.
pub(crate) async fn finish(app: &App) {
    if let Err(error) = app.write_audit_counts(true).await {
        tracing::error!(%error, "the last entries of the audit are lost");
    }
    while let Ok(true) = app.number_events().await {}
}
