//! Metrics: one way to create them, to register them, and to hold a gauge.
//!
//! A [`MetricSet`] remembers what it creates, so a meter names each metric once. Names, labels and buckets are
//! constants of the program: an invalid one, or one that is there twice, panics in every test that starts a server.

use prometheus::core::{
    Atomic, Collector, GenericCounter, GenericCounterVec, GenericGauge, GenericGaugeVec,
};
use prometheus::{Histogram, HistogramOpts, HistogramVec, IntGauge, Opts, Registry};

/// Why creating or registering a metric can't fail.
const VALID: &str = "the names, labels and buckets of metrics are valid constants, each used once";

/// The metrics of one part of the program.
#[derive(Default)]
pub struct MetricSet(Vec<Box<dyn CloneCollector>>);

impl MetricSet {
    /// Creates a counter.
    pub fn counter<P: Atomic + 'static>(&mut self, name: &str, help: &str) -> GenericCounter<P> {
        self.keep(GenericCounter::new(name, help).expect(VALID))
    }

    /// Creates a counter for each combination of labels.
    pub fn counters<P: Atomic + 'static>(
        &mut self,
        name: &str,
        help: &str,
        labels: &[&str],
    ) -> GenericCounterVec<P> {
        self.keep(GenericCounterVec::new(Opts::new(name, help), labels).expect(VALID))
    }

    /// Creates a gauge.
    pub fn gauge<P: Atomic + 'static>(&mut self, name: &str, help: &str) -> GenericGauge<P> {
        self.keep(GenericGauge::new(name, help).expect(VALID))
    }

    /// Creates a gauge for each combination of labels.
    pub fn gauges<P: Atomic + 'static>(
        &mut self,
        name: &str,
        help: &str,
        labels: &[&str],
    ) -> GenericGaugeVec<P> {
        self.keep(GenericGaugeVec::new(Opts::new(name, help), labels).expect(VALID))
    }

    /// Creates a histogram.
    pub fn histogram(&mut self, name: &str, help: &str, buckets: &[f64]) -> Histogram {
        let options = HistogramOpts::new(name, help).buckets(buckets.to_vec());
        self.keep(Histogram::with_opts(options).expect(VALID))
    }

    /// Creates a histogram for each combination of labels.
    pub fn histograms(
        &mut self,
        name: &str,
        help: &str,
        labels: &[&str],
        buckets: &[f64],
    ) -> HistogramVec {
        let options = HistogramOpts::new(name, help).buckets(buckets.to_vec());
        self.keep(HistogramVec::new(options, labels).expect(VALID))
    }

    /// Registers all metrics of the set.
    ///
    /// # Panics
    ///
    /// When the registry has a metric of the same name.
    pub fn register(&self, registry: &Registry) {
        for metric in &self.0 {
            registry.register(metric.cloned()).expect(VALID);
        }
    }

    fn keep<C: Collector + Clone + 'static>(&mut self, metric: C) -> C {
        self.0.push(Box::new(metric.clone()));
        metric
    }
}

/// A collector whose clones share its values.
trait CloneCollector: Collector {
    fn cloned(&self) -> Box<dyn Collector>;
}

impl<C: Collector + Clone + 'static> CloneCollector for C {
    fn cloned(&self) -> Box<dyn Collector> {
        Box::new(self.clone())
    }
}

/// Raises a gauge by one until it is dropped.
pub struct GaugeGuard(IntGauge);

impl GaugeGuard {
    /// Raises the gauge.
    pub fn new(gauge: &IntGauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus::proto::MetricFamily;
    use prometheus::{IntCounter, IntCounterVec};

    #[test]
    fn every_metric_of_a_set_is_registered_once() {
        let mut set = MetricSet::default();
        let events: IntCounter = set.counter("events_total", "Events");
        let outcomes: IntCounterVec = set.counters("outcomes_total", "Outcomes", &["outcome"]);
        let waiting: IntGauge = set.gauge("waiting", "Waiting");
        let seconds = set.histogram("seconds", "Durations", &[0.1, 1.0]);
        let registry = Registry::new();
        set.register(&registry);
        events.inc();
        outcomes.with_label_values(&["ok"]).inc();
        seconds.observe(0.5);
        let guard = GaugeGuard::new(&waiting);
        assert_eq!(waiting.get(), 1);
        drop(guard);
        assert_eq!(waiting.get(), 0);
        let families = registry.gather();
        let names: Vec<&str> = families.iter().map(MetricFamily::name).collect();
        assert_eq!(names, ["events_total", "outcomes_total", "seconds", "waiting"]);
    }

    #[test]
    #[should_panic(expected = "each used once")]
    fn a_name_that_is_registered_twice_panics() {
        let mut set = MetricSet::default();
        let _: [IntGauge; 2] = [set.gauge("waiting", "Waiting"), set.gauge("waiting", "Waiting")];
        set.register(&Registry::new());
    }
}
