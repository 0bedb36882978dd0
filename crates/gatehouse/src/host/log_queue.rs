//! The way of a log line to standard error, on which nobody waits: a thread writes, and lines queue up
//! for it. Whoever reads our log slowly, or not at all, holds up no request. What doesn't fit is lost,
//! and how much that was is said as soon as there is room.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tracing_subscriber::fmt::MakeWriter;

/// Lines that may wait to be written.
const LINES_MAX: usize = 8192;

/// Bytes that are written at once.
const BATCH_BYTES: usize = 64 * 1024;

/// How long lines are gathered after others were written. To be woken costs more than to write a line, so
/// for a moment nobody wakes the thread.
const GATHER_TIME: Duration = Duration::from_millis(2);

/// Where lines queue up. Cheap to clone.
#[derive(Clone)]
pub(crate) struct LogQueue {
    queue: SyncSender<Vec<u8>>,
    progress: Arc<Progress>,
}

/// How far the lines are on their way.
#[derive(Default)]
struct Progress {
    n_taken: AtomicU64,
    n_lost: AtomicU64,
    written: Mutex<Written>,
    moved: Condvar,
}

/// What the thread that writes and those who wait for it tell each other.
#[derive(Default)]
struct Written {
    /// Lines that the sink was given, whatever it made of them.
    n_offered: u64,
    /// Whether somebody waits for that: then nothing is gathered any more.
    is_awaited: bool,
}

impl Progress {}

impl LogQueue {
    /// Begins to write to `sink`. It may fail or never return: the log suffers alone.
    pub(crate) fn start(sink: impl Write + Send + 'static) -> io::Result<Self> {
        let (queue, lines) = sync_channel(LINES_MAX);
        let progress = Arc::new(Progress::default());
        let told = Arc::clone(&progress);
        std::thread::Builder::new()
            .name("log".into())
            .spawn(move || write_until_closed(sink, &lines, &told))?;
        Ok(Self { queue, progress })
    }

    /// Waits until every line that was taken is written, but not longer than this. Lines that come
    /// meanwhile count too: the last may be the one that tells how many were lost.
    pub(crate) fn flush(&self, within: Duration) {
        let progress = &self.progress;
        let mut written = progress.written.lock();
        written.is_awaited = true;
        progress.moved.notify_all();
        let is_behind = |it: &mut Written| it.n_offered < progress.n_taken.load(Ordering::Relaxed);
        let _ = progress.moved.wait_while_for(&mut written, is_behind, within);
    }
}

impl<'a> MakeWriter<'a> for LogQueue {
    type Writer = &'a Self;

    fn make_writer(&'a self) -> Self::Writer {
        self
    }
}

impl Write for &LogQueue {
    /// Takes a whole line, which is how it is offered.
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
        // There is nobody else to complain to.
        let _ = sink.write_all(&batch).and_then(|()| sink.flush());
        let n_lost = progress.n_lost.swap(0, Ordering::Relaxed);
        if n_lost > 0 {
            tracing::warn!(n_lines = n_lost, "the log could not keep up, and lines were lost");
        }
        let mut written = progress.written.lock();
        written.n_offered += n_lines;
        progress.moved.notify_all();
        if batch.len() < BATCH_BYTES {
            let _ = progress.moved.wait_while_for(&mut written, |it| !it.is_awaited, GATHER_TIME);
        }
    }
}

#[cfg(test)]
mod tests;
