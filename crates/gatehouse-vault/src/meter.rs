//! The vault's metrics: load of the slow hashes, and hits of the success cache.

use prometheus::core::Collector;
use prometheus::{Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGauge, Opts, Registry};

/// Bucket bounds around the duration of a slow hash, in seconds.
const SECONDS: [f64; 10] = [0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.25, 0.5, 1.0];

/// Metrics of one vault.
pub struct VaultMeter {
    pub(crate) running: IntGauge,
    pub(crate) waiting: IntGauge,
    pub(crate) refused: IntCounter,
    pub(crate) durations: Histogram,
    pub(crate) batch_waiting: IntGauge,
    pub(crate) batch_made: IntCounter,
    cached_checks: IntCounterVec,
}

impl VaultMeter {
    /// Slow hashes made for requests, batches excluded.
    pub fn n_hashes(&self) -> u64 {
        self.durations.get_sample_count()
    }

    /// Slow hashes that were refused.
    pub fn n_refused(&self) -> u64 {
        self.refused.get()
    }

    /// Slow hashes that wait for a permit.
    pub fn n_waiting(&self) -> u64 {
        self.waiting.get().try_into().unwrap_or_default()
    }

    pub(crate) fn new() -> Self {
        let gauge = |name, help| IntGauge::new(name, help).expect(SOUND);
        let counter = |name, help| IntCounter::new(name, help).expect(SOUND);
        let cached_checks = IntCounterVec::new(
            Opts::new(
                "gatehouse_vault_remembered_checks_total",
                "Checks of chosen passwords, by whether their success was cached",
            ),
            &["outcome"],
        )
        .expect(SOUND);
        for outcome in [HIT, MISS] {
            // A label without events shows zero.
            cached_checks.with_label_values(&[outcome]);
        }
        let durations = HistogramOpts::new(
            "gatehouse_vault_hash_duration_seconds",
            "How long slow hashes take, from their turn on",
        );
        Self {
            running: gauge("gatehouse_vault_hashes_running", "Slow hashes that are being made"),
            waiting: gauge(
                "gatehouse_vault_hashes_waiting",
                "Slow hashes that wait for their turn",
            ),
            refused: counter(
                "gatehouse_vault_hashes_refused_total",
                "Slow hashes that were refused because too many waited",
            ),
            durations: Histogram::with_opts(durations.buckets(SECONDS.to_vec())).expect(SOUND),
            batch_waiting: gauge(
                "gatehouse_vault_quiet_hashes_waiting",
                "Slow hashes of batches that wait for their turn",
            ),
            batch_made: counter(
                "gatehouse_vault_quiet_hashes_total",
                "Slow hashes of batches that were made",
            ),
            cached_checks,
        }
    }

    /// Registers the metrics.
    pub fn register(&self, registry: &Registry) -> Result<(), prometheus::Error> {
        let all: [Box<dyn Collector>; 7] = [
            Box::new(self.running.clone()),
            Box::new(self.waiting.clone()),
            Box::new(self.refused.clone()),
            Box::new(self.durations.clone()),
            Box::new(self.batch_waiting.clone()),
            Box::new(self.batch_made.clone()),
            Box::new(self.cached_checks.clone()),
        ];
        all.into_iter().try_for_each(|one| registry.register(one))
    }

    /// Counts a hit or a miss of the success cache.
    pub(crate) fn count_cached(&self, is_hit: bool) {
        self.cached_checks.with_label_values(&[if is_hit { HIT } else { MISS }]).inc();
    }
}

/// Raises a gauge by one while it is held.
pub(crate) struct GaugeGuard(IntGauge);

impl GaugeGuard {
    pub(crate) fn new(gauge: &IntGauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}

const HIT: &str = "hit";
const MISS: &str = "miss";
const SOUND: &str = "names, labels and buckets are written soundly here";
