//! Metrics of platform calls, by account.
//!
//! Operators create accounts, not clients, so there are few. An account's metrics are removed with its last meter; two
//! versions of an account share them for a moment.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::{Account, TenantName};
use gatehouse_meter::{GaugeGuard, MetricSet};
use parking_lot::Mutex;
use prometheus::{Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec};

use crate::engine::latency::Latency;

/// Buckets in seconds, from a nearby platform's latency to the longest timeout.
const SECONDS: [f64; 12] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

const LABELS: [&str; 3] = ["tenant", "platform", "account"];
const LABELS_AND_OUTCOME: [&str; 4] = ["tenant", "platform", "account", "outcome"];

/// Metrics of all accounts.
#[derive(Clone)]
pub struct PlatformMeter(Arc<Metrics>);

struct Metrics {
    calls: IntCounterVec,
    durations: HistogramVec,
    retries: IntCounterVec,
    throttled: IntCounterVec,
    circuit: IntGaugeVec,
    in_flight: IntGaugeVec,
    meters: Mutex<HashMap<Labels, usize>>,
    all: MetricSet,
}

/// Tenant, platform and account name.
type Labels = [String; 3];

/// Metrics of one account, which last as long as any of its meters.
#[derive(Clone)]
pub struct AccountMeter(Arc<Series>);

struct Series {
    tenant: TenantName,
    metrics: Arc<Metrics>,
    labels: Labels,
    calls: [IntCounter; Outcome::ALL.len()],
    durations: Histogram,
    retries: IntCounter,
    throttled: IntCounter,
    circuit: IntGauge,
    in_flight: IntGauge,
    latency: Latency,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A response, also that there is no such object.
    Ok,
    /// No connection, or an error response.
    Error,
    /// The deadline passed.
    Timeout,
    /// The platform limits the calls.
    Throttled,
    /// No call, since the circuit is open.
    NotSent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Circuit {
    Closed,
    /// One call probes the platform.
    HalfOpen,
    Open,
}

impl Outcome {
    const ALL: [Self; 5] = [Self::Ok, Self::Error, Self::Timeout, Self::Throttled, Self::NotSent];

    fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::Throttled => "throttled",
            Self::NotSent => "refused",
        }
    }
}

impl PlatformMeter {
    /// Metrics without accounts.
    #[expect(clippy::new_without_default, reason = "figures are made once, and on purpose")]
    pub fn new() -> Self {
        let mut all = MetricSet::default();
        Self(Arc::new(Metrics {
            calls: all.counters(
                "gatehouse_platform_calls_total",
                "Calls to platforms, by outcome",
                &LABELS_AND_OUTCOME,
            ),
            durations: all.histograms(
                "gatehouse_platform_call_duration_seconds",
                "Duration of calls to platforms, from sending the request until the whole response is read",
                &LABELS,
                &SECONDS,
            ),
            retries: all.counters(
                "gatehouse_platform_retries_total",
                "Retries of calls to platforms",
                &LABELS,
            ),
            throttled: all.counters(
                "gatehouse_platform_throttled_total",
                "Calls that were not made, since the platform asked for a pause or a budget is spent, the \
                 account's own or a quota of its platform",
                &LABELS,
            ),
            circuit: all.gauges(
                "gatehouse_platform_circuit",
                "Circuit breaker of an account: 0 closed (calls are made), 1 half-open (one call probes), 2 open (no calls)",
                &LABELS,
            ),
            in_flight: all.gauges(
                "gatehouse_platform_calls_in_flight",
                "Calls to platforms under way",
                &LABELS,
            ),
            meters: Mutex::default(),
            all,
        }))
    }

    /// All metrics of calls.
    pub fn metrics(&self) -> &MetricSet {
        &self.0.all
    }

    /// Creates a meter of an account. All its metrics are shown from now on, at zero.
    pub fn account(&self, tenant: &TenantName, account: &Account) -> AccountMeter {
        let metrics = &self.0;
        let names = [tenant.as_str(), account.platform.as_str(), account.name.as_str()];
        let labels = names.map(str::to_owned);
        // Locked until all series exist, since a meter's drop removes them.
        let mut meters = metrics.meters.lock();
        *meters.entry(labels.clone()).or_default() += 1;
        let tenant_name = tenant.clone();
        let [tenant, platform, account] = names;
        AccountMeter(Arc::new(Series {
            tenant: tenant_name,
            calls: Outcome::ALL.map(|outcome| {
                let labels = [tenant, platform, account, outcome.as_str()];
                metrics.calls.with_label_values(&labels)
            }),
            durations: metrics.durations.with_label_values(&names),
            retries: metrics.retries.with_label_values(&names),
            throttled: metrics.throttled.with_label_values(&names),
            circuit: metrics.circuit.with_label_values(&names),
            in_flight: metrics.in_flight.with_label_values(&names),
            latency: Latency::default(),
            metrics: Arc::clone(metrics),
            labels,
        }))
    }
}

impl AccountMeter {
    pub(crate) fn tenant(&self) -> &TenantName {
        &self.0.tenant
    }

    pub(crate) fn account(&self) -> &str {
        let [_, _, account] = &self.0.labels;
        account
    }

    pub(crate) fn latency(&self) -> &Latency {
        &self.0.latency
    }

    pub(crate) fn count(&self, outcome: Outcome) {
        self.0.calls[outcome as usize].inc();
    }

    pub(crate) fn observe(&self, outcome: Outcome, took: Duration) {
        self.count(outcome);
        self.0.durations.observe(took.as_secs_f64());
    }

    pub(crate) fn count_retry(&self) {
        self.0.retries.inc();
    }

    /// Counts a call that is not made because of a budget.
    pub(crate) fn count_throttled(&self) {
        self.0.throttled.inc();
    }

    /// Sets the state of the circuit.
    pub(crate) fn show(&self, circuit: Circuit) {
        self.0.circuit.set(match circuit {
            Circuit::Closed => 0,
            Circuit::HalfOpen => 1,
            Circuit::Open => 2,
        });
    }

    /// Counts a call under way until the guard is dropped.
    pub(crate) fn in_flight(&self) -> GaugeGuard {
        GaugeGuard::new(&self.0.in_flight)
    }
}

impl fmt::Debug for AccountMeter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AccountMeter({:?})", self.0.labels)
    }
}

impl fmt::Debug for PlatformMeter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Meter")
    }
}

impl Drop for Series {
    fn drop(&mut self) {
        let metrics = &self.metrics;
        let mut meters = metrics.meters.lock();
        if let Some(n_meters) = meters.get_mut(&self.labels) {
            *n_meters -= 1;
            if *n_meters > 0 {
                return;
            }
        }
        meters.remove(&self.labels);
        let names = self.labels.each_ref().map(String::as_str);
        let [tenant, platform, account] = names;
        // An error means that the series is gone already.
        for outcome in Outcome::ALL {
            let labels = [tenant, platform, account, outcome.as_str()];
            let _ = metrics.calls.remove_label_values(&labels);
        }
        let _ = metrics.durations.remove_label_values(&names);
        for counter in [&metrics.retries, &metrics.throttled] {
            let _ = counter.remove_label_values(&names);
        }
        for gauge in [&metrics.circuit, &metrics.in_flight] {
            let _ = gauge.remove_label_values(&names);
        }
    }
}

#[cfg(test)]
mod tests;
