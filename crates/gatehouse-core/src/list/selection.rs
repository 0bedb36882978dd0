//! Finding a deep page among several runs, without walking there.
//!
//! Each run is a rising sequence of numbers that can be looked up by position. To pass over the first
//! `n` of all of them together, it must be known how many of these lie in each run. A selection keeps a
//! [`Bracket`] around that for every run, and knows the number at the position that it looks at. When
//! these positions add up to more than `n`, the largest of the numbers can't be among the first `n`;
//! otherwise the smallest of them must be. Either way one bracket shrinks, so a run of a million is
//! settled with a handful of look-ups, or some twenty, wherever the page is.

use crate::list::Interval;
use crate::page::bracket::Bracket;

/// How many of the first `n` numbers lie in each run: asks until it knows.
#[derive(Clone, Debug)]
pub struct RunSelection {
    n: u64,
    runs: Vec<Run>,
}

/// What is known about one run.
#[derive(Clone, Debug)]
struct Run {
    bracket: Bracket,
    /// Positions that were looked at, with their numbers. They are few.
    seen: Vec<(u64, u64)>,
}

/// Numbers that a selection wants to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountQuery {
    /// Of which run.
    pub run: usize,
    /// At which positions, counted from one. The first answers needed are among them.
    pub positions: Vec<u64>,
}

impl Run {
    /// The number at the position looked at, once it is known.
    fn number(&self) -> Option<u64> {
        let position = self.bracket.position();
        self.seen.iter().rev().find(|seen| seen.0 == position).map(|seen| seen.1)
    }

    fn is_waiting(&self) -> bool {
        self.bracket.is_open() && self.number().is_none()
    }
}

impl RunSelection {
    /// Begins to look for the first `n` numbers of runs, of which each has between so many and so many.
    pub fn new(bounds: &[Interval], n: u64) -> Self {
        let surely: u64 = bounds.iter().map(|bound| bound.after).sum();
        let perhaps: u64 = bounds.iter().map(|bound| bound.len()).sum();
        let n_more = n.saturating_sub(surely).min(perhaps);
        let run = |bound: &Interval| {
            // As many as its share: exact when the runs are evenly mixed.
            let share = u128::from(n_more) * u128::from(bound.len()) / u128::from(perhaps.max(1));
            let share = u64::try_from(share).unwrap_or(u64::MAX);
            let low = if n_more == perhaps { bound.to } else { bound.after };
            let high = bound.to.min(bound.after.saturating_add(n_more));
            let guess = bound.after.saturating_add(share);
            Run { bracket: Bracket::new(low, high, guess), seen: Vec::new() }
        };
        Self { n: surely + n_more, runs: bounds.iter().map(run).collect() }
    }

    /// What must be looked up next; nothing when the selection is done. With more than one look, also
    /// what the next ones could want to see, in whichever run they are.
    pub fn probes(&self, n_looks: u32) -> Vec<CountQuery> {
        if !self.runs.iter().any(Run::is_waiting) {
            return Vec::new();
        }
        let probe = |(n, run): (usize, &Run)| {
            let mut positions = run.bracket.ahead(n_looks);
            positions.retain(|position| !run.seen.iter().any(|seen| seen.0 == *position));
            (!positions.is_empty()).then_some(CountQuery { run: n, positions })
        };
        self.runs.iter().enumerate().filter_map(probe).collect()
    }

    /// Takes the numbers at some positions of a run in.
    pub fn learn(&mut self, run: usize, numbers: impl IntoIterator<Item = (u64, u64)>) {
        self.runs[run].seen.extend(numbers);
        let is_open = |selection: &Self| selection.runs.iter().any(|run| run.bracket.is_open());
        while is_open(self) && !self.runs.iter().any(Run::is_waiting) {
            self.decide();
        }
    }

    /// How many of the first `n` numbers lie in each run, once nothing is left to look up.
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
