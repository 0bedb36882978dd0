//! Writes what is counted for the audit: tokens and refused requests.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::app::App;

/// Time between two writes.
const INTERVAL: Duration = Duration::from_secs(1);

/// Writes what is due, until the server stops, and the rest then.
pub(super) async fn write_counts(app: App, stopping: CancellationToken) {
    let steps = async {
        let mut is_logged = false;
        loop {
            tokio::time::sleep(INTERVAL).await;
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
    };
    stopping.run_until_cancelled(steps).await;
    if let Err(error) = app.write_audit_counts(true).await {
        tracing::error!(%error, "the last entries of the audit are lost");
    }
}
