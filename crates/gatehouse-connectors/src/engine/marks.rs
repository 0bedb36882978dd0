//! Positions of the cursors that a platform gave.
//!
//! By cursor, page 50 is reached only through the 49 pages before it. So cursors are cached with their positions, and
//! the
//! next page takes one call.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// Most cursors per account.
const MARKS_MAX: usize = 256;

/// Most bytes of a cached cursor.
const MARK_BYTES_MAX: usize = 4096;

/// Lifetime of a cursor.
const MARK_LIFE: Duration = Duration::from_secs(10 * 60);

/// Cursors of one account, by the number of connections before their page.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    by_position: BTreeMap<u64, (String, Instant)>,
}

impl Marks {
    /// The last cursor at or before a position.
    pub(crate) fn nearest(&self, position: u64, now: Instant) -> Option<(u64, String)> {
        let mut before = self.by_position.range(..=position).rev();
        let fresh = before.find(|(_, (_, at))| now.duration_since(*at) < MARK_LIFE)?;
        Some((*fresh.0, fresh.1.0.clone()))
    }

    /// Stores a cursor; the oldest one makes way when there are too many.
    pub(crate) fn keep(&mut self, position: u64, mark: &str, now: Instant) {
        if mark.len() > MARK_BYTES_MAX {
            return;
        }
        if self.by_position.len() >= MARKS_MAX && !self.by_position.contains_key(&position) {
            let oldest = self.by_position.iter().min_by_key(|(_, (_, at))| *at);
            if let Some(oldest) = oldest.map(|(position, _)| *position) {
                self.by_position.remove(&oldest);
            }
        }
        self.by_position.insert(position, (mark.to_owned(), now));
    }

    /// Position of a cursor.
    pub(crate) fn position_of(&self, mark: &str) -> Option<u64> {
        let found = self.by_position.iter().find(|(_, (it, _))| it == mark);
        found.map(|(position, _)| *position)
    }

    /// Removes a cursor that the platform rejects.
    pub(crate) fn remove(&mut self, position: u64) {
        self.by_position.remove(&position);
    }

    /// Removes the cursors from a position on: the list ends there.
    pub(crate) fn cut(&mut self, position: u64) {
        self.by_position.split_off(&position);
    }

    /// Removes all cursors.
    pub(crate) fn forget(&mut self) {
        self.by_position.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_mark_before_a_position_is_taken() {
        let now = Instant::now();
        let mut marks = Marks::default();
        assert_eq!(marks.nearest(100, now), None);
        marks.keep(10, "ten", now);
        marks.keep(20, "twenty", now);
        assert_eq!(marks.nearest(9, now), None);
        assert_eq!(marks.nearest(10, now), Some((10, "ten".into())));
        assert_eq!(marks.nearest(19, now), Some((10, "ten".into())));
        assert_eq!(marks.nearest(5000, now), Some((20, "twenty".into())));
        assert_eq!((marks.position_of("ten"), marks.position_of("none")), (Some(10), None));
        marks.cut(21);
        assert_eq!(marks.nearest(5000, now).map(|it| it.0), Some(20));
        marks.cut(20);
        assert_eq!(marks.nearest(5000, now).map(|it| it.0), Some(10));
        marks.keep(20, "twenty", now);
        marks.remove(20);
        assert_eq!(marks.nearest(5000, now), Some((10, "ten".into())));
        marks.forget();
        assert_eq!(marks.nearest(5000, now), None);
    }

    #[test]
    fn marks_are_few_short_and_fresh() {
        let begin = Instant::now();
        let mut marks = Marks::default();
        for n in 0..=MARKS_MAX as u64 {
            marks.keep(n, "mark", begin + Duration::from_millis(n));
        }
        assert_eq!(marks.by_position.len(), MARKS_MAX);
        assert_eq!(marks.nearest(0, begin), None, "the oldest is gone");
        marks.keep(9999, &"x".repeat(MARK_BYTES_MAX + 1), begin);
        assert_ne!(marks.nearest(9999, begin).map(|it| it.0), Some(9999));
        assert_eq!(marks.nearest(9999, begin + MARK_LIFE + Duration::from_secs(1)), None);
    }
}
