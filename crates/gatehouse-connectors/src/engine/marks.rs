//! Where in a list the marks that a platform gave lead.
//!
//! A platform that pages by marks has no way to page 50 but through the 49 before it. So each mark is kept
//! for a while with the position that it stands at, and the next page is one step away.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// Most marks that are kept for one account.
const MARKS_MAX: usize = 256;

/// Most bytes of a mark that is kept.
const MARK_BYTES_MAX: usize = 4096;

/// How long a mark is kept.
const MARK_LIFE: Duration = Duration::from_secs(10 * 60);

/// The marks of one account, by how many connections lie before what they lead to.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    by_position: BTreeMap<u64, (String, Instant)>,
}

impl Marks {
    /// The mark that leads nearest to a position, and not past it.
    pub(crate) fn nearest(&self, position: u64, now: Instant) -> Option<(u64, String)> {
        let mut before = self.by_position.range(..=position).rev();
        let fresh = before.find(|(_, (_, at))| now.duration_since(*at) < MARK_LIFE)?;
        Some((*fresh.0, fresh.1.0.clone()))
    }

    /// Keeps a mark; of too many, the one that was kept longest ago is forgotten.
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

    /// Where a mark was seen to stand.
    pub(crate) fn position_of(&self, mark: &str) -> Option<u64> {
        let found = self.by_position.iter().find(|(_, (it, _))| it == mark);
        found.map(|(position, _)| *position)
    }

    /// Forgets one that the platform no longer takes.
    pub(crate) fn remove(&mut self, position: u64) {
        self.by_position.remove(&position);
    }

    /// Forgets those from a position on: the list ends before them.
    pub(crate) fn cut(&mut self, position: u64) {
        self.by_position.split_off(&position);
    }

    /// Forgets all of them.
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
