//! What is measured of the calls to platforms, account by account.
//!
//! Accounts come from operators, not from clients, and are few. The figures of one that is gone go with
//! it; two versions of an account, for a moment side by side, have them together.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::{Account, TenantName};
use parking_lot::Mutex;
use prometheus::core::Collector;
use prometheus::{
    Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry,
};

use crate::engine::latency::Latency;

/// From what a platform nearby takes to the longest that anybody waits, in seconds.
const SECONDS: [f64; 12] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

const LABELS: [&str; 3] = ["tenant", "platform", "account"];
const LABELS_AND_OUTCOME: [&str; 4] = ["tenant", "platform", "account", "outcome"];

/// The figures of all accounts.
#[derive(Clone)]
pub struct PlatformMeter(Arc<Figures>);

struct Figures {
    calls: IntCounterVec,
    durations: HistogramVec,
    retries: IntCounterVec,
    throttled: IntCounterVec,
    circuit: IntGaugeVec,
    in_flight: IntGaugeVec,
    /// How many meters each account has.
    meters: Mutex<HashMap<Labels, usize>>,
}

/// A tenant, a platform, and an account's name.
type Labels = [String; 3];

/// The figures of one account, which last as long as any of its meters.
#[derive(Clone)]
pub struct AccountMeter(Arc<Series>);

struct Series {
    /// Whose account it is.
    tenant: TenantName,
    figures: Arc<Figures>,
    labels: Labels,
    calls: [IntCounter; Outcome::ALL.len()],
    durations: Histogram,
    retries: IntCounter,
    throttled: IntCounter,
    circuit: IntGauge,
    in_flight: IntGauge,
    latency: Latency,
}

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The platform answered; that there is no such thing is an answer too.
    Ok,
    /// It could not be reached, or answered that something is wrong.
    Error,
    /// It took too long.
    Timeout,
    /// It wants to be asked less often.
    Throttled,
    /// It was not asked, because it fails again and again.
    Refused,
}

/// What an account's circuit looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Circuit {
    /// Calls go through.
    Closed,
    /// One call finds out whether the platform works again.
    HalfOpen,
    /// No call goes through.
    Open,
}

impl Outcome {
    const ALL: [Self; 5] = [Self::Ok, Self::Error, Self::Timeout, Self::Throttled, Self::Refused];

    fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::Throttled => "throttled",
            Self::Refused => "refused",
        }
    }
}

impl PlatformMeter {
    /// Figures without an account.
    #[expect(clippy::new_without_default, reason = "figures are made once, and on purpose")]
    pub fn new() -> Self {
        let counter = |name: &str, help: &str, labels: &[&str]| {
            IntCounterVec::new(Opts::new(name, help), labels).expect(SOUND)
        };
        let gauge =
            |name: &str, help: &str| IntGaugeVec::new(Opts::new(name, help), &LABELS).expect(SOUND);
        let durations = HistogramOpts::new(
            "gatehouse_platform_call_duration_seconds",
            "How long calls to platforms take, from when they are sent until all of the answer is there",
        );
        Self(Arc::new(Figures {
            calls: counter(
                "gatehouse_platform_calls_total",
                "Calls to platforms, by what came of them",
                &LABELS_AND_OUTCOME,
            ),
            durations: HistogramVec::new(durations.buckets(SECONDS.to_vec()), &LABELS)
                .expect(SOUND),
            retries: counter(
                "gatehouse_platform_retries_total",
                "Calls to platforms that were made again",
                &LABELS,
            ),
            throttled: counter(
                "gatehouse_platform_throttled_total",
                "Calls that were not made, since the platform wants to be left alone or a budget is spent, \
                 the account's own or one that its platform gives",
                &LABELS,
            ),
            circuit: gauge(
                "gatehouse_platform_circuit",
                "Whether an account is asked: 0 closed (it is), 1 half-open (it is tried), 2 open (it is not)",
            ),
            in_flight: gauge(
                "gatehouse_platform_calls_in_flight",
                "Calls to platforms that are under way",
            ),
            meters: Mutex::default(),
        }))
    }

    /// Puts the figures where they are shown.
    pub fn register(&self, registry: &Registry) -> Result<(), prometheus::Error> {
        let all: [Box<dyn Collector>; 6] = [
            Box::new(self.0.calls.clone()),
            Box::new(self.0.durations.clone()),
            Box::new(self.0.retries.clone()),
            Box::new(self.0.throttled.clone()),
            Box::new(self.0.circuit.clone()),
            Box::new(self.0.in_flight.clone()),
        ];
        all.into_iter().try_for_each(|one| registry.register(one))
    }

    /// The figures of an account. All of them are shown from now on: nothing is a figure too.
    pub fn account(&self, tenant: &TenantName, account: &Account) -> AccountMeter {
        let figures = &self.0;
        let names = [tenant.as_str(), account.platform.as_str(), account.name.as_str()];
        let labels = names.map(str::to_owned);
        // Held until the figures are there: who removes them counts first.
        let mut meters = figures.meters.lock();
        *meters.entry(labels.clone()).or_default() += 1;
        let whose = tenant.clone();
        let [tenant, platform, account] = names;
        AccountMeter(Arc::new(Series {
            tenant: whose,
            calls: Outcome::ALL.map(|outcome| {
                let labels = [tenant, platform, account, outcome.as_str()];
                figures.calls.with_label_values(&labels)
            }),
            durations: figures.durations.with_label_values(&names),
            retries: figures.retries.with_label_values(&names),
            throttled: figures.throttled.with_label_values(&names),
            circuit: figures.circuit.with_label_values(&names),
            in_flight: figures.in_flight.with_label_values(&names),
            latency: Latency::default(),
            figures: Arc::clone(figures),
            labels,
        }))
    }
}

impl AccountMeter {
    /// Whose account it is.
    pub(crate) fn tenant(&self) -> &TenantName {
        &self.0.tenant
    }

    /// The account's name.
    pub(crate) fn account(&self) -> &str {
        let [_, _, account] = &self.0.labels;
        account
    }

    /// How long the account's answers take, of late.
    pub(crate) fn latency(&self) -> &Latency {
        &self.0.latency
    }

    /// Counts what came of a call.
    pub(crate) fn count(&self, outcome: Outcome) {
        self.0.calls[outcome as usize].inc();
    }

    /// Counts a call that was made, and how long it took.
    pub(crate) fn observe(&self, outcome: Outcome, took: Duration) {
        self.count(outcome);
        self.0.durations.observe(took.as_secs_f64());
    }

    /// Counts a call that is made again.
    pub(crate) fn count_retry(&self) {
        self.0.retries.inc();
    }

    /// Counts a call that is not made, for the sake of a budget.
    pub(crate) fn count_throttled(&self) {
        self.0.throttled.inc();
    }

    /// Shows what the circuit looks like.
    pub(crate) fn show(&self, circuit: Circuit) {
        self.0.circuit.set(match circuit {
            Circuit::Closed => 0,
            Circuit::HalfOpen => 1,
            Circuit::Open => 2,
        });
    }

    /// One more call under way, for as long as this is held.
    pub(crate) fn in_flight(&self) -> InFlight {
        self.0.in_flight.inc();
        InFlight(self.0.in_flight.clone())
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
        let figures = &self.figures;
        let mut meters = figures.meters.lock();
        if let Some(n_meters) = meters.get_mut(&self.labels) {
            *n_meters -= 1;
            if *n_meters > 0 {
                return;
            }
        }
        meters.remove(&self.labels);
        let names = self.labels.each_ref().map(String::as_str);
        let [tenant, platform, account] = names;
        // An error means that they are gone, which is what is wanted.
        for outcome in Outcome::ALL {
            let labels = [tenant, platform, account, outcome.as_str()];
            let _ = figures.calls.remove_label_values(&labels);
        }
        let _ = figures.durations.remove_label_values(&names);
        for counter in [&figures.retries, &figures.throttled] {
            let _ = counter.remove_label_values(&names);
        }
        for gauge in [&figures.circuit, &figures.in_flight] {
            let _ = gauge.remove_label_values(&names);
        }
    }
}

/// One more in a gauge, for as long as it is held.
pub(crate) struct InFlight(IntGauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

const SOUND: &str = "names, labels and buckets are written soundly here";

#[cfg(test)]
mod tests;
