//! How long the log is, how much of it is in the database, and from which length on it is to be moved.

use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

/// Log lengths, in pages, that trigger a checkpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Pages worth moving beside the writer. Most creations change the same few hundred pages again, and each page is moved
    /// once however often it is in the log.
    worth_moving: i32,
    /// Pages worth moving when nothing has been written for some seconds.
    at_rest: i32,
    /// A log of this length is moved to its end while the writer waits, so that it can begin anew. It waits for readers for a
    /// moment.
    long: i32,
    /// A log of this length waits for readers longer.
    very_long: i32,
}

impl Pace {
    /// 4 MB, a little; 32 MB, and 96 MB, so that the log stays below 128.
    pub(super) const USUAL: Self =
        Self { worth_moving: 1000, at_rest: 64, long: 8000, very_long: 24_000 };

    /// A few writes reach each of these lengths.
    #[cfg(test)]
    pub(crate) const FOR_TESTS: Self =
        Self { worth_moving: 20, at_rest: 10, long: 60, very_long: 240 };
}

/// How long a log waits for its readers before it is moved to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    None,
    Short,
    Long,
}

/// Length of the log, shared by the writer and the mover.
pub(super) struct LogLength {
    pace: Pace,
    /// Pages in the log after the last commit, as SQLite reports them.
    n_pages: AtomicI32,
    /// Commits that wrote something.
    n_commits: AtomicU32,
    /// Pages that are in the database, too.
    n_moved: AtomicI32,
    /// Length of the log at the last attempt to move it. While a reader is in the way, an attempt after each commit would
    /// only cost time.
    n_tried: AtomicI32,
    /// Length of the log from which on it is to be moved to its end. It grows where readers were in the way, because every
    /// write waits for such an attempt.
    n_end: AtomicI32,
}

impl LogLength {
    pub(super) fn new(pace: Pace) -> Self {
        let zero = || AtomicI32::new(0);
        Self {
            pace,
            n_pages: zero(),
            n_commits: AtomicU32::new(0),
            n_moved: zero(),
            n_tried: zero(),
            n_end: AtomicI32::new(pace.long),
        }
    }

    pub(super) fn n_pages(&self) -> i32 {
        self.n_pages.load(Ordering::Relaxed)
    }

    /// Commits so far that wrote something.
    pub(super) fn n_commits(&self) -> u32 {
        self.n_commits.load(Ordering::Relaxed)
    }

    /// Stores the length that SQLite reports after a commit.
    pub(super) fn on_commit(&self, n_pages: i32) {
        if n_pages <= self.n_pages.swap(n_pages, Ordering::Relaxed) {
            // The log has begun anew, because all of it was moved.
            self.reset();
        }
        self.n_commits.fetch_add(1, Ordering::Relaxed);
    }

    /// Records an attempt to move the log at its present length.
    pub(super) fn record_attempt(&self) {
        self.n_tried.store(self.n_pages(), Ordering::Relaxed);
    }

    pub(super) fn set_moved(&self, n_moved: i32) {
        self.n_moved.store(n_moved, Ordering::Relaxed);
    }

    /// Has the log moved again after some more of it: there was no room.
    pub(super) fn retry_sooner(&self) {
        self.n_tried.store(self.n_pages() - self.pace.worth_moving / 2, Ordering::Relaxed);
    }

    /// Sets the length for the next attempt to move the log to its end, should this one fail.
    pub(super) fn raise_end(&self) {
        let Pace { long, very_long, .. } = self.pace;
        let n_pages = self.n_pages();
        let more = if n_pages < very_long { long } else { very_long };
        self.n_end.store(n_pages.saturating_add(more), Ordering::Relaxed);
    }

    pub(super) fn on_truncate(&self) {
        self.n_pages.store(0, Ordering::Relaxed);
        self.reset();
    }

    fn reset(&self) {
        self.n_moved.store(0, Ordering::Relaxed);
        self.n_tried.store(0, Ordering::Relaxed);
        self.n_end.store(self.pace.long, Ordering::Relaxed);
    }

    /// Whether enough has been written since the log was last moved, or tried to.
    pub(super) fn is_worth_moving(&self) -> bool {
        let n_done = self.of_this_log(&self.n_moved).max(self.of_this_log(&self.n_tried));
        self.n_pages() - n_done >= self.pace.worth_moving
    }

    pub(super) fn is_worth_moving_at_rest(&self) -> bool {
        self.n_pages() - self.of_this_log(&self.n_moved) >= self.pace.at_rest
    }

    /// A count of pages; 0 where it is one of the log before it began anew, which the mover has stored too late.
    fn of_this_log(&self, count: &AtomicI32) -> i32 {
        let count = count.load(Ordering::Relaxed);
        if count <= self.n_pages() { count } else { 0 }
    }

    /// Whether the log should be moved to its end, though the writer waits meanwhile.
    pub(super) fn is_end_due(&self) -> bool {
        self.n_pages() >= self.n_end.load(Ordering::Relaxed)
    }

    pub(super) fn patience(&self) -> Patience {
        match self.n_pages() {
            n_pages if n_pages >= self.pace.very_long => Patience::Long,
            n_pages if n_pages >= self.pace.long => Patience::Short,
            _ => Patience::None,
        }
    }
}
