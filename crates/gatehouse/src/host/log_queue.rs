//! The queue of log lines to standard error. A thread writes them, so a slow reader of the log delays no request. When
//! the queue is full, lines are dropped; their number is logged as soon as there is space.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tracing_subscriber::fmt::MakeWriter;

/// Capacity of the queue, in lines.
const LINES_MAX: usize = 8192;

/// Bytes per write.
const BATCH_BYTES: usize = 64 * 1024;

/// Time for which lines are gathered after a write. Waking the thread costs more than writing a line.
const GATHER_TIME: Duration = Duration::from_millis(2);

/// The queue. Cheap to clone.
#[derive(Clone)]
pub(crate) struct LogQueue {
    queue: SyncSender<Vec<u8>>,
    progress: Arc<Progress>,
}

/// Counts of the queue's lines.
#[derive(Default)]
struct Progress {
    n_taken: AtomicU64,
    n_lost: AtomicU64,
    written: Mutex<Written>,
    changed: Condvar,
}

/// State shared by the writing thread and the callers of `flush`.
#[derive(Default)]
struct Written {
    /// Lines passed to the sink, whether it wrote them or failed.
    n_offered: u64,
    /// Whether `flush` waits: then lines are no longer gathered.
    is_awaited: bool,
}

impl Progress {}

impl LogQueue {
    /// Starts writing to `sink`, which may fail or block without affecting anything but the log.
    pub(crate) fn start(sink: impl Write + Send + 'static) -> io::Result<Self> {
        let (queue, lines) = sync_channel(LINES_MAX);
        let progress = Arc::new(Progress::default());
        let shared = Arc::clone(&progress);
        std::thread::Builder::new()
            .name("log".into())
            .spawn(move || write_until_closed(sink, &lines, &shared))?;
        Ok(Self { queue, progress })
    }

    /// Waits until every queued line is written, up to `within`. Later lines count too: the last may report how many
    /// were dropped.
    pub(crate) fn flush(&self, within: Duration) {
        let progress = &self.progress;
        let mut written = progress.written.lock();
        written.is_awaited = true;
        progress.changed.notify_all();
        let is_behind = |it: &mut Written| it.n_offered < progress.n_taken.load(Ordering::Relaxed);
        let _ = progress.changed.wait_while_for(&mut written, is_behind, within);
    }
}

impl<'a> MakeWriter<'a> for LogQueue {
    type Writer = &'a Self;

    fn make_writer(&'a self) -> Self::Writer {
        self
    }
}

impl Write for &LogQueue {
    /// Queues a line; the subscriber writes whole lines.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let counted = match self.queue.try_send(line.to_vec()) {
            Ok(()) => &self.progress.n_taken,
            Err(_) => &self.progress.n_lost,
        };
        counted.fetch_add(1, Ordering::Relaxed);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_until_closed(mut sink: impl Write, lines: &Receiver<Vec<u8>>, progress: &Progress) {
    while let Ok(mut batch) = lines.recv() {
        let mut n_lines = 1;
        while batch.len() < BATCH_BYTES
            && let Ok(line) = lines.try_recv()
        {
            batch.extend_from_slice(&line);
            n_lines += 1;
        }
        // The log is the only place to report to, so the error is dropped.
        let _ = sink.write_all(&batch).and_then(|()| sink.flush());
        let n_lost = progress.n_lost.swap(0, Ordering::Relaxed);
        if n_lost > 0 {
            tracing::warn!(n_lines = n_lost, "the log could not keep up, and lines were lost");
        }
        let mut written = progress.written.lock();
        written.n_offered += n_lines;
        progress.changed.notify_all();
        if batch.len() < BATCH_BYTES {
            let _ = progress.changed.wait_while_for(&mut written, |it| !it.is_awaited, GATHER_TIME);
        }
    }
}

#[cfg(test)]
mod tests;
