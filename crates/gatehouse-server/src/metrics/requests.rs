//! Figures of requests: number, duration, concurrency.

use std::time::Instant;

use gatehouse_meter::{GaugeGuard, MetricSet};
use http::{Method, StatusCode};
use prometheus::{HistogramVec, IntCounterVec, IntGauge};

/// Route label of unknown paths.
pub(crate) const UNKNOWN_ROUTE: &str = "unknown";

/// Method label of unknown methods.
const UNKNOWN_METHOD: &str = "other";

/// Buckets in seconds, from a cached check to the slowest request.
const SECONDS: [f64; 15] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    10.0,
];

/// Figures of requests.
pub(crate) struct RequestMeter {
    requests: IntCounterVec,
    durations: HistogramVec,
    in_flight: IntGauge,
}

impl RequestMeter {
    pub(super) fn new(metrics: &mut MetricSet) -> Self {
        Self {
            requests: metrics.counters(
                "gatehouse_http_requests_total",
                "Requests that were answered",
                &["method", "route", "status"],
            ),
            durations: metrics.histograms(
                "gatehouse_http_request_duration_seconds",
                "How long requests take from their headers to their answer",
                &["method", "route"],
                &SECONDS,
            ),
            in_flight: metrics
                .gauge("gatehouse_http_requests_in_flight", "Requests that are being answered"),
        }
    }

    /// Counts a request until the guard is dropped.
    pub(crate) fn begin(&self, method: &Method) -> RequestGuard<'_> {
        RequestGuard {
            meter: self,
            _in_flight: GaugeGuard::new(&self.in_flight),
            began: Instant::now(),
            method: method_label(method).unwrap_or(UNKNOWN_METHOD),
            route: UNKNOWN_ROUTE,
            status: StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// A request in progress. Its status stays 500 if the handler panics.
pub(crate) struct RequestGuard<'m> {
    meter: &'m RequestMeter,
    _in_flight: GaugeGuard,
    began: Instant,
    method: &'static str,
    pub(crate) route: &'static str,
    pub(crate) status: StatusCode,
}

impl RequestGuard<'_> {
    pub(crate) fn microseconds(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

impl Drop for RequestGuard<'_> {
    fn drop(&mut self) {
        let RequestMeter { requests, durations, .. } = self.meter;
        requests.with_label_values(&[self.method, self.route, self.status.as_str()]).inc();
        let seconds = self.began.elapsed().as_secs_f64();
        durations.with_label_values(&[self.method, self.route]).observe(seconds);
    }
}

/// The method as a label; `None` if no route has it.
pub(crate) fn method_label(method: &Method) -> Option<&'static str> {
    Some(match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => return None,
    })
}
