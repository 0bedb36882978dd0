//! Spans of time, to compare instants with.

use crate::filter::Operator;
use crate::time::{BadTime, Timestamp, parse_milliseconds};

/// A span of time in whole milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeSpan {
    /// The first millisecond of the span.
    pub from: i64,
    /// The first millisecond after the span.
    pub until: i64,
}

impl TimeSpan {
    /// All of time.
    pub const ALWAYS: Self = Self { from: i64::MIN, until: i64::MAX };

    /// The instants `t` for which `t operator text` holds.
    ///
    /// Instants are whole milliseconds, but a text may be finer: no instant equals a text between two milliseconds.
    pub fn satisfying(operator: Operator, text: &str) -> Result<Self, BadTime> {
        let (at, is_whole) = parse_milliseconds(text)?;
        // The first millisecond that is not before the instant.
        let from = if is_whole { at } else { at + 1 };
        Ok(match operator {
            Operator::Equal if is_whole => Self { from: at, until: at + 1 },
            Operator::Equal => Self { from: at, until: at },
            Operator::Greater => Self { from: at + 1, ..Self::ALWAYS },
            Operator::GreaterOrEqual => Self { from, ..Self::ALWAYS },
            Operator::Less => Self { until: from, ..Self::ALWAYS },
            Operator::LessOrEqual => Self { until: at + 1, ..Self::ALWAYS },
            Operator::Present => Self::ALWAYS,
        })
    }

    /// The intersection.
    pub fn and(self, other: Self) -> Self {
        Self { from: self.from.max(other.from), until: self.until.min(other.until) }
    }

    /// Whether the span is empty.
    pub fn is_empty(self) -> bool {
        self.from >= self.until
    }

    /// Whether the instant is in the span.
    pub fn contains(self, at: Timestamp) -> bool {
        (self.from..self.until).contains(&at.as_millisecond())
    }
}

/// The union of spans: without overlaps, in order, adjacent ones joined.
pub fn union(mut spans: Vec<TimeSpan>) -> Vec<TimeSpan> {
    spans.retain(|span| !span.is_empty());
    spans.sort_unstable_by_key(|span| span.from);
    let mut joined: Vec<TimeSpan> = Vec::new();
    for span in spans {
        match joined.last_mut() {
            Some(last) if span.from <= last.until => last.until = last.until.max(span.until),
            _ => joined.push(span),
        }
    }
    joined
}

/// The parts of `spans` that are in none of `others`. Both are in order and without overlaps.
pub fn without(spans: &[TimeSpan], others: &[TimeSpan]) -> Vec<TimeSpan> {
    let mut left = Vec::new();
    for span in spans {
        let mut rest = *span;
        for other in others {
            left.push(TimeSpan { until: other.from, ..rest }.and(rest));
            rest.from = rest.from.max(other.until);
        }
        left.push(rest);
    }
    left.retain(|span| !span.is_empty());
    left
}

#[cfg(test)]
mod tests;
