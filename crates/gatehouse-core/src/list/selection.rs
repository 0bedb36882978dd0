//! Finds a deep page among several runs, without reading the rows before it.
//!
//! Each run is a rising sequence of numbers that can be looked up by position. To skip the first `n` of all runs
//! together, the selection needs their count in each run. It keeps a [`Bracket`] around that count for every run, and
//! the number at the bracket's position. When these positions add up to more than `n`, the largest of the numbers can't
//! be among the first `n`; otherwise the smallest must be. Either way one bracket shrinks, so a run of a million needs
//! a handful of look-ups, or some twenty, wherever the page is.

use crate::list::Interval;
use crate::page::bracket::Bracket;

/// Finds how many of the first `n` numbers each run has.
#[derive(Clone, Debug)]
pub struct RunSelection {
    n: u64,
    runs: Vec<Run>,
}

/// State of one run.
#[derive(Clone, Debug)]
struct Run {
    bracket: Bracket,
    /// Positions that were looked up, with their numbers. They are few.
    known: Vec<(u64, u64)>,
}

/// Positions of one run whose numbers are needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PositionLookUp {
    /// Index of the run.
    pub run: usize,
    /// Positions, counted from one. The first that are needed are among them.
    pub positions: Vec<u64>,
}

impl Run {
    /// The number at the bracket's position, once it is known.
    fn number(&self) -> Option<u64> {
        let position = self.bracket.position();
        self.known.iter().rev().find(|known| known.0 == position).map(|known| known.1)
    }

    fn is_waiting(&self) -> bool {
        self.bracket.is_open() && self.number().is_none()
    }
}

impl RunSelection {
    /// Starts a selection of the first `n` numbers of runs, whose counts are between the bounds.
    pub fn new(bounds: &[Interval], n: u64) -> Self {
        let surely: u64 = bounds.iter().map(|bound| bound.after).sum();
        let perhaps: u64 = bounds.iter().map(|bound| bound.len()).sum();
        let n_more = n.saturating_sub(surely).min(perhaps);
        let run = |bound: &Interval| {
            // A proportional guess: exact when the runs are evenly mixed.
            let share = u128::from(n_more) * u128::from(bound.len()) / u128::from(perhaps.max(1));
            let share = u64::try_from(share).unwrap_or(u64::MAX);
            let low = if n_more == perhaps { bound.to } else { bound.after };
            let high = bound.to.min(bound.after.saturating_add(n_more));
            let guess = bound.after.saturating_add(share);
            Run { bracket: Bracket::new(low, high, guess), known: Vec::new() }
        };
        Self { n: surely + n_more, runs: bounds.iter().map(run).collect() }
    }

    /// The positions that the next `n_look_ups` look-ups of each run may need; none when the selection is done.
    pub fn look_ups(&self, n_look_ups: u32) -> Vec<PositionLookUp> {
        if !self.runs.iter().any(Run::is_waiting) {
            return Vec::new();
        }
        let look_up = |(n, run): (usize, &Run)| {
            let mut positions = run.bracket.ahead(n_look_ups);
            positions.retain(|position| !run.known.iter().any(|known| known.0 == *position));
            (!positions.is_empty()).then_some(PositionLookUp { run: n, positions })
        };
        self.runs.iter().enumerate().filter_map(look_up).collect()
    }

    /// Adds the numbers at some positions of a run.
    pub fn learn(&mut self, run: usize, numbers: impl IntoIterator<Item = (u64, u64)>) {
        self.runs[run].known.extend(numbers);
        let is_open = |selection: &Self| selection.runs.iter().any(|run| run.bracket.is_open());
        while is_open(self) && !self.runs.iter().any(Run::is_waiting) {
            self.decide();
        }
    }

    /// How many of the first `n` numbers each run has, once no look-up remains.
    pub fn counts(&self) -> Vec<u64> {
        self.runs.iter().map(|run| run.bracket.position()).collect()
    }

    /// Shrinks one bracket.
    fn decide(&mut self) {
        let positions: u64 = self.runs.iter().map(|run| run.bracket.position()).sum();
        let open = self.runs.iter_mut().filter(|run| run.bracket.is_open());
        if positions > self.n {
            if let Some(largest) = open.max_by_key(|run| run.number()) {
                largest.bracket.exclude();
            }
        } else if let Some(smallest) = open.min_by_key(|run| run.number()) {
            smallest.bracket.include();
        }
    }
}

#[cfg(test)]
mod tests;
