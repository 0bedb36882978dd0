//! The vault's metrics: load of the slow hashes, and hits of the success cache.

use gatehouse_meter::MetricSet;
use prometheus::{Histogram, IntCounter, IntCounterVec, IntGauge};

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
    metrics: MetricSet,
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
        let mut metrics = MetricSet::default();
        let cached_checks: IntCounterVec = metrics.counters(
            "gatehouse_vault_remembered_checks_total",
            "Checks of chosen passwords, by whether their success was cached",
            &["outcome"],
        );
        for outcome in [HIT, MISS] {
            // A label without events shows zero.
            cached_checks.with_label_values(&[outcome]);
        }
        Self {
            running: metrics
                .gauge("gatehouse_vault_hashes_running", "Slow hashes that are being made"),
            waiting: metrics
                .gauge("gatehouse_vault_hashes_waiting", "Slow hashes that wait for their turn"),
            refused: metrics.counter(
                "gatehouse_vault_hashes_refused_total",
                "Slow hashes that were refused because too many waited",
            ),
            durations: metrics.histogram(
                "gatehouse_vault_hash_duration_seconds",
                "How long slow hashes take, from their turn on",
                &SECONDS,
            ),
            batch_waiting: metrics.gauge(
                "gatehouse_vault_quiet_hashes_waiting",
                "Slow hashes of batches that wait for their turn",
            ),
            batch_made: metrics.counter(
                "gatehouse_vault_quiet_hashes_total",
                "Slow hashes of batches that were made",
            ),
            cached_checks,
            metrics,
        }
    }

    /// All metrics of the vault.
    pub fn metrics(&self) -> &MetricSet {
        &self.metrics
    }

    /// Counts a hit or a miss of the success cache.
    pub(crate) fn count_cached(&self, is_hit: bool) {
        self.cached_checks.with_label_values(&[if is_hit { HIT } else { MISS }]).inc();
    }
}

const HIT: &str = "hit";
const MISS: &str = "miss";
