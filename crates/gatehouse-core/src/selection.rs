//! Finding a deep page among several runs, without walking there.
//!
//! Each run is a rising sequence of numbers that can be looked up by position. To pass over the first
//! `n` of all of them together, it must be known how many of these lie in each run. A selection keeps a
//! bracket around that for every run, and one number looked up within it. When the positions looked at
//! add up to more than `n`, the largest of these numbers can't be among the first `n`; otherwise the
//! smallest of them must be. Either way one bracket shrinks, so a run of a million is settled with some
//! twenty look-ups, wherever the page is.

/// How many of the first `n` numbers lie in each run: asks until it knows.
#[derive(Clone, Debug)]
pub struct Selection {
    n: u64,
    brackets: Vec<Bracket>,
}

/// What is known about one run.
#[derive(Clone, Debug)]
struct Bracket {
    /// At least so many of its numbers are among the first `n`.
    low: u64,
    /// At most so many.
    high: u64,
    /// The position looked at; above `low`, up to `high`.
    probe: u64,
    /// The number there, once it is known.
    number: Option<u64>,
    /// How far from the last answer to look next.
    step: u64,
    /// Whether `low` has been found, not only assumed; the same for `high`.
    is_low_found: bool,
    is_high_found: bool,
}

/// A number that a selection must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Which run.
    pub run: usize,
    /// Which of its numbers, counted from one.
    pub position: u64,
}

/// How far the second look goes from the first, and by how much each further one goes farther.
const STRIDE: u64 = 8;

impl Selection {
    /// Begins to look for the first `n` numbers of runs that have so many each, `n` at most all.
    pub fn new(lengths: &[u64], n: u64) -> Self {
        let total: u64 = lengths.iter().sum();
        let brackets = lengths.iter().map(|length| Bracket::new(*length, n, total)).collect();
        Self { n: n.min(total), brackets }
    }

    /// What must be looked up next; nothing when the selection is done.
    pub fn probes(&self) -> Vec<Probe> {
        let waiting = self.brackets.iter().enumerate().filter(|(_, bracket)| bracket.is_waiting());
        waiting.map(|(run, bracket)| Probe { run, position: bracket.probe }).collect()
    }

    /// Takes an answer in.
    pub fn learn(&mut self, probe: Probe, number: u64) {
        self.brackets[probe.run].number = Some(number);
        let is_open = |selection: &Self| selection.brackets.iter().any(Bracket::is_open);
        while is_open(self) && !self.brackets.iter().any(Bracket::is_waiting) {
            self.decide();
        }
    }

    /// How many of the first `n` numbers lie in each run, once nothing is left to look up.
    pub fn counts(&self) -> Vec<u64> {
        self.brackets.iter().map(|bracket| bracket.low).collect()
    }

    /// Shrinks one bracket.
    fn decide(&mut self) {
        let positions: u64 = self.brackets.iter().map(Bracket::position).sum();
        let open = self.brackets.iter_mut().filter(|bracket| bracket.is_open());
        if positions > self.n {
            if let Some(largest) = open.max_by_key(|bracket| bracket.number) {
                largest.exclude();
            }
        } else if let Some(smallest) = open.min_by_key(|bracket| bracket.number) {
            smallest.include();
        }
    }
}

impl Bracket {
    fn new(length: u64, n: u64, total: u64) -> Self {
        // As many as its share: exact when the runs are evenly mixed.
        let share = u128::from(n) * u128::from(length) / u128::from(total.max(1));
        let share = u64::try_from(share).unwrap_or(length);
        Self {
            low: 0,
            high: length.min(n),
            probe: share.clamp(1, length.min(n).max(1)),
            number: None,
            step: STRIDE,
            is_low_found: false,
            is_high_found: false,
        }
    }

    fn is_open(&self) -> bool {
        self.low < self.high
    }

    fn is_waiting(&self) -> bool {
        self.is_open() && self.number.is_none()
    }

    /// The position looked at, or the one that is settled.
    fn position(&self) -> u64 {
        if self.is_open() { self.probe } else { self.low }
    }

    fn include(&mut self) {
        self.low = self.probe;
        self.is_low_found = true;
        self.look_on();
    }

    fn exclude(&mut self) {
        self.high = self.probe - 1;
        self.is_high_found = true;
        self.look_on();
    }

    /// Away from the last answer in growing steps; once there is one on both sides, in the middle.
    fn look_on(&mut self) {
        self.number = None;
        self.probe = match (self.is_low_found, self.is_high_found) {
            (true, false) => self.low.saturating_add(self.step).min(self.high),
            (false, true) => (self.high + 1).saturating_sub(self.step).max(self.low + 1),
            _ => self.low + (self.high - self.low).div_ceil(2),
        };
        self.step = self.step.saturating_mul(STRIDE);
    }
}

#[cfg(test)]
mod tests;
