//! A measured figure, with its yardstick and its goal.

use serde::{Deserialize, Serialize};

use crate::quantiles::{Latencies, median};
use crate::runner::Sample;

/// A measured figure, with its yardstick if it has one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResultLine {
    pub(crate) what: String,
    pub(crate) unit: String,
    pub(crate) n_rounds: usize,
    pub(crate) measured: f64,
    pub(crate) yardstick: Option<f64>,
    /// Figure divided by yardstick; `None` without a yardstick.
    pub(crate) ratio: Option<f64>,
    /// Goal of the ratio, or of the figure itself if there is no yardstick.
    pub(crate) goal: Option<Goal>,
    /// Whether figure and yardstick are CPU, which hardly depends on the machine's other work.
    pub(crate) is_cpu: bool,
    /// The clients' latencies.
    pub(crate) p50_us: Option<f64>,
    pub(crate) p99_us: Option<f64>,
    pub(crate) per_second: Option<f64>,
    /// CPU of a separate database, if there is one.
    pub(crate) database_us: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Goal {
    AtMost(f64),
    AtLeast(f64),
}

impl Goal {
    fn is_met(self, figure: f64) -> bool {
        match self {
            Self::AtMost(most) => figure <= most,
            Self::AtLeast(least) => figure >= least,
        }
    }

    /// Figure as a share of the goal: more than one misses it.
    pub(crate) fn share(self, figure: f64) -> f64 {
        match self {
            Self::AtMost(most) => figure / most,
            Self::AtLeast(least) => least / figure,
        }
    }

    /// The goal as text, for a figure that meets it or doesn't.
    fn shown(self, is_met: bool) -> String {
        // As in code: 1.5, 2.0, 1.15.
        match (self, is_met) {
            (Self::AtMost(most), true) => format!("≤ {most:?}"),
            (Self::AtMost(most), false) => format!("> {most:?}"),
            (Self::AtLeast(least), true) => format!("≥ {least:?}"),
            (Self::AtLeast(least), false) => format!("< {least:?}"),
        }
    }
}

impl ResultLine {
    /// Medians of rounds, each a figure and its yardstick.
    pub(crate) fn new(what: &str, unit: &str, rounds: Vec<(f64, f64)>) -> Self {
        let of = |figure: fn(&(f64, f64)) -> f64| median(rounds.iter().map(figure).collect());
        Self {
            yardstick: Some(of(|it| it.1)),
            ratio: Some(of(|it| it.0 / it.1)),
            ..Self::alone(what, unit, rounds.iter().map(|it| it.0).collect())
        }
    }

    /// Median of rounds of a figure without a yardstick.
    pub(crate) fn alone(what: &str, unit: &str, rounds: Vec<f64>) -> Self {
        Self {
            what: what.to_owned(),
            unit: unit.to_owned(),
            n_rounds: rounds.len(),
            measured: median(rounds),
            yardstick: None,
            ratio: None,
            goal: None,
            is_cpu: false,
            p50_us: None,
            p99_us: None,
            per_second: None,
            database_us: None,
        }
    }

    /// Medians of rounds of a request and its yardstick: CPU of the server per request.
    pub(crate) fn of_cpu(what: &str, rounds: &[(Sample, Sample)]) -> Self {
        let figures = rounds.iter().map(|(one, other)| (one.cpu_us, other.cpu_us));
        let database: Vec<f64> = rounds.iter().filter_map(|(one, _)| one.database_cpu_us).collect();
        let latencies = Latencies::median(rounds.iter().map(|(one, _)| one.latencies));
        let line = Self::new(what, "µs", figures.collect()).cpu().with_latencies(latencies);
        let database_us = (!database.is_empty()).then(|| median(database));
        Self { database_us, ..line }
    }

    pub(crate) fn cpu(self) -> Self {
        Self { is_cpu: true, ..self }
    }

    /// Sets the goal to at most this.
    pub(crate) fn at_most(self, most: f64) -> Self {
        Self { goal: Some(Goal::AtMost(most)), ..self }
    }

    /// Sets the goal to at least this.
    pub(crate) fn at_least(self, least: f64) -> Self {
        Self { goal: Some(Goal::AtLeast(least)), ..self }
    }

    pub(crate) fn with_latencies(self, latencies: Latencies) -> Self {
        Self {
            p50_us: Some(latencies.p50_us),
            p99_us: Some(latencies.p99_us),
            per_second: Some(latencies.per_second),
            ..self
        }
    }

    /// The value that is compared with the goal.
    pub(crate) fn compared(&self) -> f64 {
        self.ratio.unwrap_or(self.measured)
    }

    /// Whether every figure is a finite number.
    pub(crate) fn is_complete(&self) -> bool {
        let figures = [Some(self.measured), self.yardstick, self.ratio];
        figures.into_iter().flatten().all(f64::is_finite)
    }

    pub(crate) fn is_missed(&self) -> bool {
        self.goal.is_some_and(|goal| !goal.is_met(self.compared()))
    }

    /// The compared value, with the goal if there is one.
    pub(crate) fn shown(&self) -> String {
        let compared = format!("{:.2}", self.compared());
        match self.goal {
            None if self.ratio.is_none() => String::new(),
            None => compared,
            Some(goal) if self.is_missed() => format!("**{compared} {}**", goal.shown(false)),
            Some(goal) => format!("{compared} {}", goal.shown(true)),
        }
    }
}

#[cfg(test)]
mod tests;
