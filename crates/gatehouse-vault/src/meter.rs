//! What the vault measures of itself: how busy the slow hashes are, and how often they are spared.

use prometheus::core::Collector;
use prometheus::{Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGauge, Opts, Registry};

/// Around what a slow hash takes, in seconds.
const SECONDS: [f64; 10] = [0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.25, 0.5, 1.0];

/// The figures of one vault.
pub struct VaultMeter {
    pub(crate) running: IntGauge,
    pub(crate) waiting: IntGauge,
    pub(crate) refused: IntCounter,
    pub(crate) durations: Histogram,
    pub(crate) quiet_waiting: IntGauge,
    pub(crate) quiet_made: IntCounter,
    remembered: IntCounterVec,
}

impl VaultMeter {
    /// Slow hashes made for requests, batches excluded.
    pub fn n_hashes(&self) -> u64 {
        self.durations.get_sample_count()
    }

    /// Slow hashes that were turned away.
    pub fn n_refused(&self) -> u64 {
        self.refused.get()
    }

    /// Slow hashes that wait for their turn.
    pub fn n_waiting(&self) -> u64 {
        self.waiting.get().try_into().unwrap_or_default()
    }

    pub(crate) fn new() -> Self {
        let gauge = |name, help| IntGauge::new(name, help).expect(SOUND);
        let counter = |name, help| IntCounter::new(name, help).expect(SOUND);
        let remembered = IntCounterVec::new(
            Opts::new(
                "gatehouse_vault_remembered_checks_total",
                "Checks of chosen passwords, by whether their success was remembered",
            ),
            &["outcome"],
        )
        .expect(SOUND);
        for outcome in [HIT, MISS] {
            // Nothing is a figure too.
            remembered.with_label_values(&[outcome]);
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
                "Slow hashes that were turned away because too many waited",
            ),
            durations: Histogram::with_opts(durations.buckets(SECONDS.to_vec())).expect(SOUND),
            quiet_waiting: gauge(
                "gatehouse_vault_quiet_hashes_waiting",
                "Slow hashes of batches that wait for their turn",
            ),
            quiet_made: counter(
                "gatehouse_vault_quiet_hashes_total",
                "Slow hashes of batches that were made",
            ),
            remembered,
        }
    }

    /// Puts the figures where they are shown.
    pub fn register(&self, registry: &Registry) -> Result<(), prometheus::Error> {
        let all: [Box<dyn Collector>; 7] = [
            Box::new(self.running.clone()),
            Box::new(self.waiting.clone()),
            Box::new(self.refused.clone()),
            Box::new(self.durations.clone()),
            Box::new(self.quiet_waiting.clone()),
            Box::new(self.quiet_made.clone()),
            Box::new(self.remembered.clone()),
        ];
        all.into_iter().try_for_each(|one| registry.register(one))
    }

    /// Counts a check that was remembered, or was not.
    pub(crate) fn count_remembered(&self, known: bool) {
        self.remembered.with_label_values(&[if known { HIT } else { MISS }]).inc();
    }
}

/// One more in a gauge, for as long as it is held.
pub(crate) struct Held(IntGauge);

impl Held {
    pub(crate) fn new(gauge: &IntGauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.dec();
    }
}

const HIT: &str = "hit";
const MISS: &str = "miss";
const SOUND: &str = "names, labels and buckets are written soundly here";
