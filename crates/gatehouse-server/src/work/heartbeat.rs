//! The server's heartbeat, which also returns its share of every limit.
//!
//! Only on a shared store: an embedded one has one server. While the database can't be reached, the last share stays:
//! enforcing the whole of every limit would allow too much.

use std::net::SocketAddr;
use std::time::Duration;

use gatehouse_store::{Replica, StoreError};
use gatehouse_vault::random;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::app::App;

/// Heartbeat interval. Other servers notice a server that joins or leaves within this time.
const INTERVAL: Duration = Duration::from_secs(1);

/// A server's heartbeat.
pub(crate) struct Heartbeat {
    app: App,
    replica: Replica,
    is_ok: bool,
}

impl Heartbeat {
    /// Sends the first heartbeat; `None` on an embedded store.
    pub(crate) async fn begin(app: &App, listen: SocketAddr) -> Result<Option<Self>, StoreError> {
        if !app.store.is_shared() {
            return Ok(None);
        }
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let replica = Replica {
            id: random::bytes(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            host,
            listen: listen.to_string(),
            key_name: app.vault.key_name().to_owned(),
        };
        let heartbeat = Self { app: app.clone(), replica, is_ok: true };
        heartbeat.send().await?;
        Ok(Some(heartbeat))
    }

    /// Sends a heartbeat and takes the new share.
    async fn send(&self) -> Result<(), StoreError> {
        let before = self.app.share.get();
        let now = self.app.store.heartbeat(&self.replica).await?;
        self.app.share.set(now, Instant::now().into_std());
        self.app.meter.replicas.set(now.of().into());
        if now.of() != before.of() {
            let replicas = now.of();
            tracing::info!(replicas, "limits are shared among the servers that are there");
        }
        Ok(())
    }

    /// Sends heartbeats until the server stops, and then reports that it leaves.
    pub(super) async fn run(mut self, stopping: CancellationToken) {
        loop {
            tokio::select! {
                biased;
                () = stopping.cancelled() => break,
                () = tokio::time::sleep(INTERVAL) => {}
            }
            let sent = self.send().await;
            match &sent {
                // Logged once per outage.
                Err(error) if self.is_ok => tracing::warn!(
                    %error,
                    "this server can't say that it is there: others may take its part of limits"
                ),
                Ok(()) if !self.is_ok => tracing::info!("this server is heard of again"),
                _ => {}
            }
            self.is_ok = sent.is_ok();
        }
        if let Err(error) = self.app.store.leave(self.replica.id).await {
            tracing::warn!(%error, "this server could not say that it is gone: others notice by themselves");
        }
    }
}

#[cfg(test)]
mod tests;
