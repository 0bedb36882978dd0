//! Events for the message broker NATS: all tenants' events are published to JetStream.
//!
//! An event counts as delivered once a stream has stored it. Each tenant's events are published by one server at a time,
//! under a lease. Events of one access or Task follow one another; others are under way together. A message that
//! is published again has the same `Nats-Msg-Id`, so the stream stores it once.

mod connection;
pub(crate) mod meter;
mod publishing;
mod subject;

use std::sync::Arc;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream;
use gatehouse_store::WorkKind;
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::app::App;
use crate::config::Nats;
pub(crate) use meter::NatsMeter;

/// The outlet's name in the store.
const OUTLET: &str = "nats";

/// Tenants that one server works for at once.
const TENANTS_AT_ONCE: usize = 16;

/// Longest time until events that other servers have numbered are noticed.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Pause between two looks for new tenants, and at how much is left to publish.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// How long a stream may take to store a message.
const ACK_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a lease lasts. Longer than it takes to publish a page of events, one after the other, until one fails.
const LEASE_MILLISECONDS: i64 = 30_000;

/// Pause of a tenant whose events could not be published.
const RETRY_MILLISECONDS: i64 = 1000;

/// Publishes every tenant's events.
#[derive(Clone)]
pub(crate) struct NatsOutlet {
    app: App,
    /// Beginning of the addresses in events.
    base: String,
    client: async_nats::Client,
    jetstream: jetstream::Context,
    meter: Arc<NatsMeter>,
    /// Last warning that an event was not stored.
    warned_at: Arc<Mutex<Option<Instant>>>,
}

/// Checks the files that the settings name, before anything else is begun.
pub(crate) fn check_files(settings: &Nats) -> Result<(), String> {
    connection::options(settings, Arc::default()).map(drop)
}

impl NatsOutlet {
    /// Connects as soon as a server can be reached. Fails only for settings that can't be used.
    pub(crate) async fn open(
        settings: &Nats,
        app: App,
        base: String,
    ) -> Result<Option<Self>, String> {
        if settings.servers.is_empty() {
            return Ok(None);
        }
        let meter = Arc::clone(&app.nats_meter);
        let client = connection::connect(settings, Arc::clone(&meter)).await?;
        let mut jetstream = jetstream::new(client.clone());
        jetstream.set_timeout(ACK_TIMEOUT);
        Ok(Some(Self { app, base, client, jetstream, meter, warned_at: Arc::default() }))
    }

    /// Publishes events until the server stops; then it waits for those that are under way.
    pub(crate) async fn run(self, stopping: CancellationToken) {
        let tracker = TaskTracker::new();
        let steps = async {
            loop {
                let is_connected = self.client.connection_state() == State::Connected;
                if is_connected && tracker.len() < TENANTS_AT_ONCE {
                    let kinds = [WorkKind::Outlet];
                    match self.app.store.claim_due(&kinds, LEASE_MILLISECONDS).await {
                        Ok(Some(lease)) => {
                            let (outlet, stopping) = (self.clone(), stopping.clone());
                            tracker.spawn(async move { outlet.work(&lease, &stopping).await });
                            continue;
                        }
                        Ok(None) => {}
                        Err(error) => tracing::debug!(%error, "tenants are looked for again"),
                    }
                }
                let due = self.app.outlets_due.notified();
                _ = tokio::time::timeout(POLL_INTERVAL, due).await;
            }
        };
        let upkeep = async {
            loop {
                if let Err(error) = self.app.store.open_outlet(OUTLET).await {
                    tracing::debug!(%error, "new tenants are looked for again");
                }
                if let Ok((n_behind, n_missed)) = self.app.store.outlet_backlog(OUTLET).await {
                    self.meter.set_backlog(n_behind, n_missed);
                }
                tokio::time::sleep(UPKEEP_INTERVAL).await;
            }
        };
        // Either goes on until the server stops.
        let both = async { tokio::join!(steps, upkeep) };
        stopping.run_until_cancelled(both).await;
        tracker.close();
        tracker.wait().await;
    }
}
