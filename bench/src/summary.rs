//! What the samples come to: medians of the rounds, compared and held against the goals.

use crate::cases::Case;
use crate::measure::{Sample, Samples};

/// How many times the CPU of the small store a case may use on the large one.
const GROWTH_GOAL: f64 = 1.5;

/// One case on one store.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) list: &'static str,
    pub(crate) page: &'static str,
    pub(crate) total: u64,
    pub(crate) typical: Sample,
    /// Beside the first page of everything, on the same store.
    pub(crate) beside_first: Comparison,
    /// Beside the same case on the small store; `None` on that one itself.
    pub(crate) beside_small: Option<Comparison>,
}

/// How many times as much, and how many times would be allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Comparison {
    pub(crate) ratio: f64,
    pub(crate) goal: Option<f64>,
}

impl Comparison {
    pub(crate) fn is_missed(&self) -> bool {
        self.goal.is_some_and(|goal| self.ratio > goal)
    }
}

impl Line {
    pub(crate) fn n_missed(&self) -> usize {
        let comparisons = [Some(self.beside_first), self.beside_small];
        comparisons.into_iter().flatten().filter(Comparison::is_missed).count()
    }
}

/// Sums up one store: `samples` of its cases, and those of the small store's unless this is it.
pub(crate) fn sum_up(cases: &[Case], samples: &[Samples], small: Option<&[Samples]>) -> Vec<Line> {
    let lines = cases.iter().zip(samples).enumerate().map(|(position, (case, samples))| Line {
        list: case.list,
        page: case.page.as_str(),
        total: case.expected.total,
        typical: typical(samples),
        beside_first: Comparison { ratio: beside_yardstick(samples), goal: case.goal },
        beside_small: small.and_then(|small| small.get(position)).map(|small| Comparison {
            ratio: beside(samples, small),
            goal: case.goal.map(|_| GROWTH_GOAL),
        }),
    });
    lines.collect()
}

/// The median of the turns' ratios to the yardstick beside them.
fn beside_yardstick(samples: &Samples) -> f64 {
    let ratio = |sample: &Sample| sample.cpu_us / sample.yardstick_cpu_us;
    median(samples.iter().flatten().map(ratio).collect())
}

/// The median of the turns' ratios to the same case on another store.
fn beside(samples: &Samples, others: &Samples) -> f64 {
    let pairs = samples.iter().zip(others).filter_map(|(one, other)| (*one).zip(*other));
    median(pairs.map(|(one, other)| one.cpu_us / other.cpu_us).collect())
}

/// A sample of medians.
fn typical(samples: &Samples) -> Sample {
    let of = |figure: fn(&Sample) -> f64| median(samples.iter().flatten().map(figure).collect());
    let database: Vec<f64> =
        samples.iter().flatten().filter_map(|sample| sample.database_cpu_us).collect();
    Sample {
        cpu_us: of(|sample| sample.cpu_us),
        yardstick_cpu_us: of(|sample| sample.yardstick_cpu_us),
        database_cpu_us: (!database.is_empty()).then(|| median(database)),
        p50_us: of(|sample| sample.p50_us),
        p99_us: of(|sample| sample.p99_us),
        requests_per_second: of(|sample| sample.requests_per_second),
    }
}

/// The middle one, or the mean of the two in the middle; nothing has no middle.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n.is_multiple_of(2) => f64::midpoint(values[n / 2 - 1], values[n / 2]),
        n => values[n / 2],
    }
}

#[cfg(test)]
mod tests;
