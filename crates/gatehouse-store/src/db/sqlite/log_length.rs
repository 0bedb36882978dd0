//! Length of the log, its checkpointed part, and the lengths that make a checkpoint due.

use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

/// Log lengths, in pages, that trigger a checkpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CheckpointLengths {
    /// Pages that make a checkpoint due while the writer continues. Most creations change the same few hundred pages,
    /// and a checkpoint writes each page once however often it is in the log.
    checkpoint: i32,
    /// Pages that make a checkpoint due when the writer is idle.
    when_idle: i32,
    /// From this length on, the end of the log is checkpointed while the writer waits, so that the log can restart. It
    /// waits for readers a moment.
    long: i32,
    /// From this length on, such a checkpoint waits for readers longer.
    very_long: i32,
}

impl CheckpointLengths {
    /// 4 MB, a few pages when idle, 32 MB, and 96 MB, so that the log stays below 128 MB.
    pub(super) const USUAL: Self =
        Self { checkpoint: 1000, when_idle: 64, long: 8000, very_long: 24_000 };

    /// Lengths that a few writes reach.
    #[cfg(test)]
    pub(crate) const FOR_TESTS: Self =
        Self { checkpoint: 20, when_idle: 10, long: 60, very_long: 240 };
}

/// How long a checkpoint of the whole log waits for readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReaderWait {
    None,
    Short,
    Long,
}

/// Length of the log, shared by the writer and the checkpointer.
pub(super) struct LogLength {
    lengths: CheckpointLengths,
    /// Pages in the log after the last commit, as SQLite reports them.
    n_pages: AtomicI32,
    /// Commits that wrote something.
    n_commits: AtomicU32,
    /// Pages that a checkpoint has moved into the database.
    n_checkpointed: AtomicI32,
    /// Length of the log at the last checkpoint attempt. While a reader prevents checkpoints, an attempt after each
    /// commit would only cost time.
    n_tried: AtomicI32,
    /// Length of the log from which on the writer finishes a checkpoint. It grows where readers prevented that, because
    /// every write waits for such an attempt.
    n_finish: AtomicI32,
}

impl LogLength {
    pub(super) fn new(lengths: CheckpointLengths) -> Self {
        let zero = || AtomicI32::new(0);
        Self {
            lengths,
            n_pages: zero(),
            n_commits: AtomicU32::new(0),
            n_checkpointed: zero(),
            n_tried: zero(),
            n_finish: AtomicI32::new(lengths.long),
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
            // The log has restarted, because all of it was checkpointed.
            self.reset();
        }
        self.n_commits.fetch_add(1, Ordering::Relaxed);
    }

    /// Records a checkpoint attempt at the log's present length.
    pub(super) fn record_attempt(&self) {
        self.n_tried.store(self.n_pages(), Ordering::Relaxed);
    }

    pub(super) fn set_checkpointed(&self, n_checkpointed: i32) {
        self.n_checkpointed.store(n_checkpointed, Ordering::Relaxed);
    }

    /// Makes the next checkpoint due earlier, after one that found the disk full.
    pub(super) fn retry_sooner(&self) {
        self.n_tried.store(self.n_pages() - self.lengths.checkpoint / 2, Ordering::Relaxed);
    }

    /// Sets the length for the writer's next attempt to finish a checkpoint, should this one fail.
    pub(super) fn raise_finish_length(&self) {
        let CheckpointLengths { long, very_long, .. } = self.lengths;
        let n_pages = self.n_pages();
        let more = if n_pages < very_long { long } else { very_long };
        self.n_finish.store(n_pages.saturating_add(more), Ordering::Relaxed);
    }

    pub(super) fn on_truncate(&self) {
        self.n_pages.store(0, Ordering::Relaxed);
        self.reset();
    }

    fn reset(&self) {
        self.n_checkpointed.store(0, Ordering::Relaxed);
        self.n_tried.store(0, Ordering::Relaxed);
        self.n_finish.store(self.lengths.long, Ordering::Relaxed);
    }

    /// Whether enough has been written since the last checkpoint attempt.
    pub(super) fn is_checkpoint_due(&self) -> bool {
        let n_done = self.of_this_log(&self.n_checkpointed).max(self.of_this_log(&self.n_tried));
        self.n_pages() - n_done >= self.lengths.checkpoint
    }

    pub(super) fn is_checkpoint_due_when_idle(&self) -> bool {
        self.n_pages() - self.of_this_log(&self.n_checkpointed) >= self.lengths.when_idle
    }

    /// A count of pages; 0 where it belongs to the log before its restart, because the checkpointer stored it too late.
    fn of_this_log(&self, count: &AtomicI32) -> i32 {
        let count = count.load(Ordering::Relaxed);
        if count <= self.n_pages() { count } else { 0 }
    }

    /// Whether the writer should finish a checkpoint, though all writes wait meanwhile.
    pub(super) fn is_finish_due(&self) -> bool {
        self.n_pages() >= self.n_finish.load(Ordering::Relaxed)
    }

    pub(super) fn wait(&self) -> ReaderWait {
        match self.n_pages() {
            n_pages if n_pages >= self.lengths.very_long => ReaderWait::Long,
            n_pages if n_pages >= self.lengths.long => ReaderWait::Short,
            _ => ReaderWait::None,
        }
    }
}
