//! Medians, percentiles and latencies.

use std::time::Duration;

/// The median; NaN without values.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n.is_multiple_of(2) => f64::midpoint(values[n / 2 - 1], values[n / 2]),
        n => values[n / 2],
    }
}

/// The nearest-rank percentile of sorted values.
pub(crate) fn percentile(sorted: &[Duration], hundredths: usize) -> Duration {
    let position = (sorted.len() * hundredths).div_ceil(100).saturating_sub(1);
    sorted.get(position).copied().unwrap_or_default()
}

pub(crate) fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// Latencies of the clients, and their rate of responses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Latencies {
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) per_second: f64,
}

impl Latencies {
    /// Latencies of all clients together, over a period.
    pub(crate) fn of(latencies: Vec<Vec<Duration>>, seen: Duration) -> Self {
        let mut latencies: Vec<Duration> = latencies.into_iter().flatten().collect();
        latencies.sort();
        Self {
            p50_us: micros(percentile(&latencies, 50)),
            p99_us: micros(percentile(&latencies, 99)),
            per_second: latencies.len() as f64 / seen.as_secs_f64(),
        }
    }

    /// The median of several rounds, figure by figure.
    pub(crate) fn median(rounds: impl Iterator<Item = Self> + Clone) -> Self {
        let of = |figure: fn(Self) -> f64| median(rounds.clone().map(figure).collect());
        Self {
            p50_us: of(|it| it.p50_us),
            p99_us: of(|it| it.p99_us),
            per_second: of(|it| it.per_second),
        }
    }
}

#[cfg(test)]
mod tests;
