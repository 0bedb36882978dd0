//! The server's metrics, in Prometheus format.
//!
//! Store, vault, platforms and auth keep their own figures. This module adds those of connections, requests and the
//! process, and registers all. Labels don't grow with clients' input: there is no subject or path. Accounts are labels,
//! because operators set them up, and hubs, of which there are few.

mod connections;
mod process;
mod requests;
mod streams;

pub(crate) use process::open_process_files;
pub(crate) use requests::{RequestGuard, RequestMeter, UNKNOWN_ROUTE, method_label};
pub(crate) use streams::{StreamEnd, StreamKind, StreamMeter};

use gatehouse_meter::MetricSet;
use prometheus::{IntGaugeVec, Registry, TextEncoder};

use crate::app::App;
use crate::auth::Auth;
use connections::ConnectionMeter;
use process::ProcessMeter;

/// Media type of the text format.
pub(crate) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All metrics of a server.
pub struct Metrics {
    registry: Registry,
    process: ProcessMeter,
    pub(crate) requests: RequestMeter,
    pub(crate) streams: StreamMeter,
    pub(crate) connections: ConnectionMeter,
}

impl Metrics {
    pub(crate) fn new(app: &App, auth: &Auth) -> Self {
        let mut server = MetricSet::default();
        let build_info: IntGaugeVec = server.gauges(
            "gatehouse_build_info",
            "Which gatehouse this is; always 1",
            &["version"],
        );
        build_info.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        let metrics = Self {
            registry: Registry::new(),
            process: ProcessMeter::new(&mut server),
            requests: RequestMeter::new(&mut server),
            streams: StreamMeter::new(&mut server),
            connections: ConnectionMeter::new(&mut server),
        };
        let parts = [
            Some(&server),
            Some(auth.meter().metrics()),
            Some(app.meter.metrics()),
            Some(app.hub_meter.metrics()),
            (!app.events.nats.servers.is_empty()).then(|| app.nats_meter.metrics()),
            app.backups.as_ref().map(|it| it.metrics()),
            app.checks.as_ref().map(|it| it.metrics()),
            Some(app.store.meter().metrics()),
            Some(app.vault.meter().metrics()),
            Some(app.platforms.meter().metrics()),
        ];
        parts.into_iter().flatten().for_each(|part| metrics.register(part));
        metrics
    }

    /// Registers the metrics of another module.
    pub(crate) fn register(&self, metrics: &MetricSet) {
        metrics.register(&self.registry);
    }

    /// Renders all metrics in Prometheus' text format.
    pub fn render(&self) -> String {
        self.process.update();
        let families = self.registry.gather();
        TextEncoder::new().encode_to_string(&families).unwrap_or_else(|cause| {
            tracing::error!(%cause, "the metrics can't be written");
            String::new()
        })
    }
}
