//! A figure, beside its yardstick and its goal.

use serde::{Deserialize, Serialize};

use crate::quantiles::{Waits, median};
use crate::turns::Sample;

/// Something that was measured, beside its yardstick where it has one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Line {
    pub(crate) what: String,
    pub(crate) unit: String,
    /// How often it was measured.
    pub(crate) n_rounds: usize,
    pub(crate) measured: f64,
    pub(crate) yardstick: Option<f64>,
    /// How many times the yardstick it is; there is none where there is no yardstick.
    pub(crate) ratio: Option<f64>,
    /// What the ratio is to be; without a yardstick, the figure itself.
    pub(crate) goal: Option<Goal>,
    /// Whether CPU is compared with CPU, which hardly depends on what else the machine does.
    pub(crate) is_cpu: bool,
    /// What the clients saw.
    pub(crate) p50_us: Option<f64>,
    pub(crate) p99_us: Option<f64>,
    pub(crate) per_second: Option<f64>,
    /// What a database of its own used for it, where there is one.
    pub(crate) database_us: Option<f64>,
}

/// What a figure is to be.
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

    /// How much of what is allowed a figure takes: more than one misses the goal.
    pub(crate) fn share(self, figure: f64) -> f64 {
        match self {
            Self::AtMost(most) => figure / most,
            Self::AtLeast(least) => least / figure,
        }
    }

    /// The goal in signs, for a figure that meets it or doesn't.
    fn shown(self, is_met: bool) -> String {
        // As it is written in code: 1.5, 2.0, 1.15.
        match (self, is_met) {
            (Self::AtMost(most), true) => format!("≤ {most:?}"),
            (Self::AtMost(most), false) => format!("> {most:?}"),
            (Self::AtLeast(least), true) => format!("≥ {least:?}"),
            (Self::AtLeast(least), false) => format!("< {least:?}"),
        }
    }
}

impl Line {
    /// Sums up the rounds, each a figure and its yardstick.
    pub(crate) fn new(what: &str, unit: &str, rounds: Vec<(f64, f64)>) -> Self {
        let of = |figure: fn(&(f64, f64)) -> f64| median(rounds.iter().map(figure).collect());
        Self {
            yardstick: Some(of(|it| it.1)),
            ratio: Some(of(|it| it.0 / it.1)),
            ..Self::alone(what, unit, rounds.iter().map(|it| it.0).collect())
        }
    }

    /// Sums up rounds of a figure that is good or bad by itself.
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

    /// Sums up the turns of a request and of its yardstick, taken together: what the server used for one.
    pub(crate) fn of_cpu(what: &str, turns: &[(Sample, Sample)]) -> Self {
        let rounds = turns.iter().map(|(one, other)| (one.cpu_us, other.cpu_us));
        let database: Vec<f64> = turns.iter().filter_map(|(one, _)| one.database_cpu_us).collect();
        let waits = Waits::median(turns.iter().map(|(one, _)| one.waits));
        let line = Self::new(what, "µs", rounds.collect()).cpu().with_waits(waits);
        let database_us = (!database.is_empty()).then(|| median(database));
        Self { database_us, ..line }
    }

    /// The same, of CPU.
    pub(crate) fn cpu(self) -> Self {
        Self { is_cpu: true, ..self }
    }

    /// The same, which is to be at most so much.
    pub(crate) fn at_most(self, most: f64) -> Self {
        Self { goal: Some(Goal::AtMost(most)), ..self }
    }

    /// The same, which is to be at least so much.
    pub(crate) fn at_least(self, least: f64) -> Self {
        Self { goal: Some(Goal::AtLeast(least)), ..self }
    }

    /// The same, and what the clients saw.
    pub(crate) fn with_waits(self, waits: Waits) -> Self {
        Self {
            p50_us: Some(waits.p50_us),
            p99_us: Some(waits.p99_us),
            per_second: Some(waits.per_second),
            ..self
        }
    }

    /// What the goal is about.
    pub(crate) fn compared(&self) -> f64 {
        self.ratio.unwrap_or(self.measured)
    }

    /// Whether there is a figure wherever there should be one.
    pub(crate) fn is_whole(&self) -> bool {
        let figures = [Some(self.measured), self.yardstick, self.ratio];
        figures.into_iter().flatten().all(f64::is_finite)
    }

    pub(crate) fn is_missed(&self) -> bool {
        self.goal.is_some_and(|goal| !goal.is_met(self.compared()))
    }

    /// What the goal is about, beside the goal where there is one.
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
