//! Positions of the cursors that a platform gave.
//!
//! By cursor, page 50 is reached only through the 49 pages before it. So cursors are cached with their positions, and
//! the next page takes one call.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

const CURSORS_MAX: usize = 256;

const CURSOR_BYTES_MAX: usize = 4096;

const CURSOR_LIFETIME: Duration = Duration::from_secs(10 * 60);

/// Cursors of one account, by the number of connections before their page.
#[derive(Debug, Default)]
pub(crate) struct CursorCache {
    by_position: BTreeMap<u64, (String, Instant)>,
}

impl CursorCache {
    /// The last cursor at or before a position.
    pub(crate) fn nearest(&self, position: u64, now: Instant) -> Option<(u64, String)> {
        let mut before = self.by_position.range(..=position).rev();
        let fresh = before.find(|(_, (_, at))| now.duration_since(*at) < CURSOR_LIFETIME)?;
        Some((*fresh.0, fresh.1.0.clone()))
    }

    /// Stores a cursor; the oldest one makes way when there are too many.
    pub(crate) fn insert(&mut self, position: u64, cursor: &str, now: Instant) {
        if cursor.len() > CURSOR_BYTES_MAX {
            return;
        }
        if self.by_position.len() >= CURSORS_MAX && !self.by_position.contains_key(&position) {
            let oldest = self.by_position.iter().min_by_key(|(_, (_, at))| *at);
            if let Some(oldest) = oldest.map(|(position, _)| *position) {
                self.by_position.remove(&oldest);
            }
        }
        self.by_position.insert(position, (cursor.to_owned(), now));
    }

    pub(crate) fn position_of(&self, cursor: &str) -> Option<u64> {
        let found = self.by_position.iter().find(|(_, (it, _))| it == cursor);
        found.map(|(position, _)| *position)
    }

    /// Removes a cursor that the platform rejects.
    pub(crate) fn remove(&mut self, position: u64) {
        self.by_position.remove(&position);
    }

    /// Removes the cursors from a position on: the list ends there.
    pub(crate) fn truncate(&mut self, position: u64) {
        self.by_position.split_off(&position);
    }

    pub(crate) fn clear(&mut self) {
        self.by_position.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_cursor_before_a_position_is_used() {
        let now = Instant::now();
        let mut cursors = CursorCache::default();
        assert_eq!(cursors.nearest(100, now), None);
        cursors.insert(10, "ten", now);
        cursors.insert(20, "twenty", now);
        assert_eq!(cursors.nearest(9, now), None);
        assert_eq!(cursors.nearest(10, now), Some((10, "ten".into())));
        assert_eq!(cursors.nearest(19, now), Some((10, "ten".into())));
        assert_eq!(cursors.nearest(5000, now), Some((20, "twenty".into())));
        assert_eq!((cursors.position_of("ten"), cursors.position_of("none")), (Some(10), None));
        cursors.truncate(21);
        assert_eq!(cursors.nearest(5000, now).map(|it| it.0), Some(20));
        cursors.truncate(20);
        assert_eq!(cursors.nearest(5000, now).map(|it| it.0), Some(10));
        cursors.insert(20, "twenty", now);
        cursors.remove(20);
        assert_eq!(cursors.nearest(5000, now), Some((10, "ten".into())));
        cursors.clear();
        assert_eq!(cursors.nearest(5000, now), None);
    }

    #[test]
    fn the_cache_is_bounded_and_cursors_expire() {
        let begin = Instant::now();
        let mut cursors = CursorCache::default();
        for n in 0..=CURSORS_MAX as u64 {
            cursors.insert(n, "cursor", begin + Duration::from_millis(n));
        }
        assert_eq!(cursors.by_position.len(), CURSORS_MAX);
        assert_eq!(cursors.nearest(0, begin), None, "the oldest is gone");
        cursors.insert(9999, &"x".repeat(CURSOR_BYTES_MAX + 1), begin);
        assert_ne!(cursors.nearest(9999, begin).map(|it| it.0), Some(9999));
        assert_eq!(cursors.nearest(9999, begin + CURSOR_LIFETIME + Duration::from_secs(1)), None);
    }
}
