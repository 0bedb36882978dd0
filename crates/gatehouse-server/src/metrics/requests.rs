//! The figures of requests: how many, how long, how many at once.

use std::time::Instant;

use http::{Method, StatusCode};
use prometheus::core::Collector;
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, IntGauge, Opts};

use super::SOUND;

/// What a path that leads nowhere is counted as.
pub(crate) const UNKNOWN_ROUTE: &str = "unknown";

/// What a method that no route has is counted as.
const UNKNOWN_METHOD: &str = "other";

/// From a cached check to what a request may take, in seconds.
const SECONDS: [f64; 15] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    10.0,
];

/// The figures of requests.
pub(crate) struct RequestMeter {
    requests: IntCounterVec,
    durations: HistogramVec,
    in_flight: IntGauge,
}

impl RequestMeter {
    pub(super) fn new() -> Self {
        let requests = Opts::new("gatehouse_http_requests_total", "Requests that were answered");
        let durations = HistogramOpts::new(
            "gatehouse_http_request_duration_seconds",
            "How long requests take from their headers to their answer",
        );
        Self {
            requests: IntCounterVec::new(requests, &["method", "route", "status"]).expect(SOUND),
            durations: HistogramVec::new(durations.buckets(SECONDS.to_vec()), &["method", "route"])
                .expect(SOUND),
            in_flight: IntGauge::new(
                "gatehouse_http_requests_in_flight",
                "Requests that are being answered",
            )
            .expect(SOUND),
        }
    }

    pub(super) fn collectors(&self) -> Vec<Box<dyn Collector>> {
        vec![
            Box::new(self.requests.clone()),
            Box::new(self.durations.clone()),
            Box::new(self.in_flight.clone()),
        ]
    }

    /// Counts a request that has begun, until what this returns is dropped.
    pub(crate) fn begin(&self, method: &Method) -> RequestGuard<'_> {
        self.in_flight.inc();
        RequestGuard {
            meter: self,
            began: Instant::now(),
            method: method_word(method).unwrap_or(UNKNOWN_METHOD),
            route: UNKNOWN_ROUTE,
            status: StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// A request that is being answered. One that never gets an answer of its own has panicked.
pub(crate) struct RequestGuard<'m> {
    meter: &'m RequestMeter,
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
        let RequestMeter { requests, durations, in_flight } = self.meter;
        in_flight.dec();
        requests.with_label_values(&[self.method, self.route, self.status.as_str()]).inc();
        let seconds = self.began.elapsed().as_secs_f64();
        durations.with_label_values(&[self.method, self.route]).observe(seconds);
    }
}

/// The method as a word that a label may be; `None` for what no route has.
pub(crate) fn method_word(method: &Method) -> Option<&'static str> {
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
