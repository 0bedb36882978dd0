//! Figures, each beside its yardstick and its goal, for people and for programs.

use serde_json::{Value, json};

use crate::report::{hundredths, layout, show};
use crate::summary::{Comparison, median};

/// All that is known when the measurements are done.
#[derive(Debug)]
pub(crate) struct Report {
    /// What was measured on.
    pub(crate) about: String,
    pub(crate) lines: Vec<Line>,
}

/// Something that was measured, beside its yardstick where it has one.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    what: String,
    unit: &'static str,
    measured: f64,
    yardstick: Option<f64>,
    /// With the yardstick; without one, the figure itself and what it may be.
    comparison: Comparison,
}

impl Line {
    /// Sums up the rounds, each a figure and its yardstick.
    pub(crate) fn new(
        what: &str,
        unit: &'static str,
        rounds: Vec<(f64, f64)>,
        goal: Option<f64>,
    ) -> Self {
        let of = |figure: fn(&(f64, f64)) -> f64| median(rounds.iter().map(figure).collect());
        Self {
            what: what.to_owned(),
            unit,
            measured: of(|it| it.0),
            yardstick: Some(of(|it| it.1)),
            comparison: Comparison { ratio: of(|it| it.0 / it.1), goal },
        }
    }

    /// Sums up rounds of a figure that is good or bad by itself.
    pub(crate) fn alone(
        what: &str,
        unit: &'static str,
        rounds: Vec<f64>,
        goal: Option<f64>,
    ) -> Self {
        let measured = median(rounds);
        let comparison = Comparison { ratio: measured, goal };
        Self { what: what.to_owned(), unit, measured, yardstick: None, comparison }
    }

    /// The columns of figures.
    fn figures(&self) -> [String; 3] {
        match self.yardstick {
            Some(yardstick) => [figure(self.measured), figure(yardstick), show(&self.comparison)],
            None => [show(&self.comparison), String::new(), String::new()],
        }
    }
}

impl Report {
    /// How many goals were missed.
    pub(crate) fn n_missed(&self) -> usize {
        self.lines.iter().filter(|line| line.comparison.is_missed()).count()
    }

    /// Everything in Markdown that is also readable as it is.
    pub(crate) fn markdown(&self) -> String {
        let head = ["what", "unit", "measured", "yardstick", "ratio"].map(str::to_owned).to_vec();
        let rows = self.lines.iter().map(|line| {
            let mut row = vec![line.what.clone(), line.unit.to_owned()];
            row.extend(line.figures());
            row
        });
        let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
        let end = match self.n_missed() {
            0 => "Every goal is met.".to_owned(),
            n => format!("Goals that are missed, in bold: {n}."),
        };
        format!("{}\n\n{}\n{end}\n", self.about, layout(&rows))
    }

    /// The same, for programs.
    pub(crate) fn json(&self) -> Value {
        let lines = self.lines.iter().map(|line| {
            json!({
                "what": line.what,
                "unit": line.unit,
                "measured": hundredths(line.measured),
                "yardstick": line.yardstick.map(hundredths),
                "ratio": line.yardstick.map(|_| hundredths(line.comparison.ratio)),
                "goal": line.comparison.goal,
            })
        });
        json!({"about": self.about, "missed": self.n_missed(), "lines": lines.collect::<Vec<_>>()})
    }
}

/// As many digits as tell something.
fn figure(value: f64) -> String {
    match value {
        large if large >= 100.0 => crate::report::with_commas(large.round() as u64),
        small => format!("{small:.2}"),
    }
}

#[cfg(test)]
mod tests;
