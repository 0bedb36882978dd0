//! The server's metrics, in Prometheus format.
//!
//! Store, vault, platforms and auth keep their own figures. This module adds those of connections, requests and the
//! process, and registers all. Labels don't grow with clients' input: there is no tenant, subject, path or id. Accounts
//! are labels, because operators set them up.

mod connections;
mod process;
mod requests;
mod streams;

pub(crate) use process::open_process_files;
pub(crate) use requests::{RequestGuard, RequestMeter, UNKNOWN_ROUTE, method_label};
pub(crate) use streams::{StreamEnd, StreamMeter};

use prometheus::core::Collector;
use prometheus::{IntGaugeVec, Opts, Registry, TextEncoder};

use crate::app::App;
use crate::auth::Auth;
use connections::ConnectionMeter;
use process::ProcessMeter;

/// Media type of the text format.
pub(crate) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Why creating or registering a metric can't fail.
const VALID: &str = "the names, labels and buckets are valid constants, each used once";

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
        let metrics = Self {
            registry: Registry::new(),
            process: ProcessMeter::new(),
            requests: RequestMeter::new(),
            streams: StreamMeter::new(),
            connections: ConnectionMeter::new(),
        };
        let build_info = Opts::new("gatehouse_build_info", "Which gatehouse this is; always 1");
        let build_info = IntGaugeVec::new(build_info, &["version"]).expect(VALID);
        build_info.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        let mut collectors: Vec<Box<dyn Collector>> = vec![Box::new(build_info)];
        collectors.extend(metrics.process.collectors());
        collectors.extend(metrics.requests.collectors());
        collectors.extend(metrics.streams.collectors());
        collectors.extend(metrics.connections.collectors());
        collectors.extend(auth.meter().collectors());
        collectors.extend(app.meter.collectors());
        collectors.extend(app.backups.iter().flat_map(|it| it.collectors()));
        collectors.extend(app.checks.iter().flat_map(|it| it.collectors()));
        for collector in collectors {
            metrics.registry.register(collector).expect(VALID);
        }
        app.store.meter().register(&metrics.registry).expect(VALID);
        app.vault.meter().register(&metrics.registry).expect(VALID);
        app.platforms.meter().register(&metrics.registry).expect(VALID);
        metrics
    }

    /// Registers a metric of another module.
    pub(crate) fn register(&self, metric: impl Collector + 'static) {
        self.registry.register(Box::new(metric)).expect(VALID);
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
