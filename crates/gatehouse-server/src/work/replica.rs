//! Being there: a server says every second that it is, and learns which part of every limit is its own.
//!
//! Only where others may be, too: an embedded store has one server. When the database can't be reached, the
//! last share stays: nobody knows better, and the whole of every limit would be too much for as long as it
//! lasts.

use std::net::SocketAddr;
use std::time::Duration;

use gatehouse_store::{Replica, StoreError};
use gatehouse_vault::random;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::app::App;

/// How often it is said. Others learn of a server that joins or leaves within this time.
const BEAT: Duration = Duration::from_secs(1);

/// A server that is there.
pub(crate) struct Presence {
    app: App,
    replica: Replica,
    is_heard: bool,
}

impl Presence {
    /// Says for the first time that this server is there; `None` where no other can be.
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
        let presence = Self { app: app.clone(), replica, is_heard: true };
        presence.beat().await?;
        Ok(Some(presence))
    }

    /// Says that this server is there, and takes the share that it has from now on.
    async fn beat(&self) -> Result<(), StoreError> {
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

    /// Goes on saying it until the server stops, and says then that it is gone.
    pub(super) async fn keep(mut self, stopping: CancellationToken) {
        loop {
            tokio::select! {
                biased;
                () = stopping.cancelled() => break,
                () = tokio::time::sleep(BEAT) => {}
            }
            let beat = self.beat().await;
            match &beat {
                // Once, not every second.
                Err(error) if self.is_heard => tracing::warn!(
                    %error,
                    "this server can't say that it is there: others may take its part of limits"
                ),
                Ok(()) if !self.is_heard => tracing::info!("this server is heard of again"),
                _ => {}
            }
            self.is_heard = beat.is_ok();
        }
        if let Err(error) = self.app.store.leave(self.replica.id).await {
            tracing::warn!(%error, "this server could not say that it is gone: others notice by themselves");
        }
    }
}

#[cfg(test)]
mod tests;
