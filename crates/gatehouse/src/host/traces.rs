//! Trace export: OTLP over HTTP, in batches, on a thread of its own. A full queue drops spans; an unreachable collector
//! is logged at intervals. Neither delays a request.

use std::time::{Duration, Instant};

use gatehouse_connectors::has_authorities;
use gatehouse_server::config::Traces;
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{Protocol, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracerProvider, SpanData, SpanExporter,
};
use parking_lot::Mutex;
use tracing::Metadata;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::{Layer, Registry};

/// Capacity of the export queue.
const QUEUE_MAX: usize = 4096;

/// Spans per export.
const BATCH_MAX: usize = 512;

/// Time for which spans wait for a batch to fill.
const BATCH_DELAY: Duration = Duration::from_secs(5);

const EXPORT_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout of the last export when the server stops.
const LAST_EXPORT_TIMEOUT: Duration = Duration::from_secs(5);

/// Shortest interval between two warnings.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// The trace export, until `finish`.
pub(crate) struct TraceExport(SdkTracerProvider);

type BoxedLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// Starts the export, if an endpoint is configured.
pub(crate) fn start(traces: &Traces) -> Result<Option<(BoxedLayer, TraceExport)>, String> {
    let Some(endpoint) = &traces.endpoint else { return Ok(None) };
    let client = reqwest::blocking::Client::builder().timeout(EXPORT_TIMEOUT);
    let client = if has_authorities() { client } else { client.tls_certs_only([]) };
    let client = client.build().map_err(|cause| format!("traces.endpoint: {cause}"))?;
    let exporter = opentelemetry_otlp::SpanExporter::builder()
        .with_http()
        .with_http_client(client)
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(format!("{}/v1/traces", endpoint.as_str()))
        .with_timeout(EXPORT_TIMEOUT)
        .build();
    let exporter = exporter.map_err(|cause| format!("traces.endpoint: {cause}"))?;
    let batches = BatchConfigBuilder::default()
        .with_max_queue_size(QUEUE_MAX)
        .with_max_export_batch_size(BATCH_MAX)
        .with_scheduled_delay(BATCH_DELAY)
        .build();
    let exporter = QuietExporter { exporter, lost: Mutex::default() };
    let processor = BatchSpanProcessor::builder(exporter).with_batch_config(batches).build();
    let share = traces.sample_percent as f64 / 100.0;
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let resource = Resource::builder().with_service_name("gatehouse").with_attribute(version);
    let provider = SdkTracerProvider::builder()
        .with_span_processor(processor)
        .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(share))))
        .with_resource(resource.build())
        .build();
    let layer = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("gatehouse"))
        .with_context_activation(false)
        .with_level(false)
        .with_location(false)
        .with_target(false)
        .with_threads(false)
        .with_tracked_inactivity(false)
        .with_filter(filter_fn(is_ours));
    Ok(Some((layer.boxed(), TraceExport(provider))))
}

/// Whether it is a span of our crates. Log events are not exported.
fn is_ours(metadata: &Metadata<'_>) -> bool {
    metadata.is_span() && metadata.target().starts_with("gatehouse")
}

impl TraceExport {
    /// Exports the last spans, within this time.
    pub(crate) fn finish(self, within: Duration) {
        if let Err(cause) = self.0.shutdown_with_timeout(within.min(LAST_EXPORT_TIMEOUT)) {
            tracing::warn!(%cause, "the last traces may not have been exported");
        }
    }
}

/// An exporter that logs failures at intervals instead of every time.
#[derive(Debug)]
struct QuietExporter<Exporter> {
    exporter: Exporter,
    lost: Mutex<LostSpans>,
}

#[derive(Debug, Default)]
struct LostSpans {
    logged_at: Option<Instant>,
    n_spans: usize,
}

impl<Exporter: SpanExporter> SpanExporter for QuietExporter<Exporter> {
    async fn export(&self, spans: Vec<SpanData>) -> OTelSdkResult {
        let n_spans = spans.len();
        let result = self.exporter.export(spans).await;
        if let Err(cause) = &result {
            let mut lost = self.lost.lock();
            lost.n_spans += n_spans;
            if lost.logged_at.is_none_or(|at| at.elapsed() >= WARNING_INTERVAL) {
                let n_spans = std::mem::take(&mut lost.n_spans);
                lost.logged_at = Some(Instant::now());
                tracing::warn!(%cause, n_spans, "traces can't be exported, and are lost");
            }
        }
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn shutdown(&self) -> OTelSdkResult {
        self.exporter.shutdown()
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}
