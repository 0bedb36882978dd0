//! What the server measures of itself, as Prometheus reads it.
//!
//! Store, vault, platforms and auth keep their own figures; here are those of connections, requests and the
//! process, and the one registry that shows all of them. No label grows with what clients send: there is no
//! tenant in here, no subject, no path and no identifier, but for accounts, which operators set up.

mod connections;
mod process;
mod requests;
mod streams;

pub(crate) use process::open_figures;
pub(crate) use requests::{RequestGuard, RequestMeter, UNKNOWN_ROUTE, method_word};
pub(crate) use streams::{StreamEnd, StreamMeter};

use prometheus::core::Collector;
use prometheus::{IntGaugeVec, Opts, Registry, TextEncoder};

use crate::app::App;
use crate::auth::Auth;
use connections::ConnectionMeter;
use process::ProcessMeter;

/// What Prometheus expects a text to be called.
pub(crate) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Why making a metric or registering it can't fail.
const SOUND: &str = "names, labels and buckets are written soundly here, each once";

/// All the figures of a server.
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
        let about = Opts::new("gatehouse_build_info", "Which gatehouse this is; always 1");
        let about = IntGaugeVec::new(about, &["version"]).expect(SOUND);
        about.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        let mut collectors: Vec<Box<dyn Collector>> = vec![Box::new(about)];
        collectors.extend(metrics.process.collectors());
        collectors.extend(metrics.requests.collectors());
        collectors.extend(metrics.streams.collectors());
        collectors.extend(metrics.connections.collectors());
        collectors.extend(auth.meter().collectors());
        collectors.extend(app.meter.collectors());
        collectors.extend(app.backups.iter().flat_map(|it| it.collectors()));
        collectors.extend(app.checks.iter().flat_map(|it| it.collectors()));
        for collector in collectors {
            metrics.registry.register(collector).expect(SOUND);
        }
        app.store.meter().register(&metrics.registry).expect(SOUND);
        app.vault.meter().register(&metrics.registry).expect(SOUND);
        app.platforms.meter().register(&metrics.registry).expect(SOUND);
        metrics
    }

    /// Registers a metric that another part of the server updates.
    pub(crate) fn show_also(&self, figure: impl Collector + 'static) {
        self.registry.register(Box::new(figure)).expect(SOUND);
    }

    /// All figures as they are now, in Prometheus' text format.
    pub fn render(&self) -> String {
        self.process.look();
        let families = self.registry.gather();
        TextEncoder::new().encode_to_string(&families).unwrap_or_else(|cause| {
            tracing::error!(%cause, "the metrics can't be written");
            String::new()
        })
    }
}
