//! The way of a log line to standard error, on which nobody waits: a thread writes, and lines queue up
//! for it. Whoever reads our log slowly, or not at all, holds up no request. What doesn't fit is lost,
//! and how much that was is said as soon as there is room.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use tracing_subscriber::fmt::MakeWriter;

/// Lines that may wait to be written.
const LINES_MAX: usize = 8192;

/// Bytes that are written at once.
const BATCH_BYTES: usize = 64 * 1024;

/// Where lines queue up. Cheap to clone.
#[derive(Clone)]
pub(crate) struct LogQueue {
    queue: SyncSender<Entry>,
    n_lost: Arc<AtomicU64>,
}

enum Entry {
    Line(Vec<u8>),
    /// Somebody wants to know when what stands before this is written.
    Mark(SyncSender<()>),
}

impl LogQueue {
    /// Begins to write to `sink`. It may fail or never return: the log suffers alone.
    pub(crate) fn start(sink: impl Write + Send + 'static) -> io::Result<Self> {
        let (queue, entries) = sync_channel(LINES_MAX);
        let n_lost = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&n_lost);
        std::thread::Builder::new()
            .name("log".into())
            .spawn(move || write_until_closed(sink, &entries, &counted))?;
        Ok(Self { queue, n_lost })
    }

    /// Waits until what is in the queue is written, but not longer than this.
    pub(crate) fn flush(&self, within: Duration) {
        let (mark, reached) = sync_channel(1);
        if self.queue.try_send(Entry::Mark(mark)).is_ok() {
            let _ = reached.recv_timeout(within);
        }
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
        match self.queue.try_send(Entry::Line(line.to_vec())) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.n_lost.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_until_closed(mut sink: impl Write, entries: &Receiver<Entry>, n_lost: &AtomicU64) {
    let mut batch = Vec::new();
    while let Ok(first) = entries.recv() {
        let mut next = Some(first);
        let mut mark = None;
        while let Some(entry) = next {
            match entry {
                Entry::Line(line) => batch.extend_from_slice(&line),
                Entry::Mark(reached) => mark = Some(reached),
            }
            let is_enough = batch.len() >= BATCH_BYTES || mark.is_some();
            next = if is_enough { None } else { entries.try_recv().ok() };
        }
        // There is nobody else to complain to.
        let _ = sink.write_all(&batch).and_then(|()| sink.flush());
        batch.clear();
        let n_lines = n_lost.swap(0, Ordering::Relaxed);
        if n_lines > 0 {
            tracing::warn!(n_lines, "the log could not keep up, and lines were lost");
        }
        if let Some(reached) = mark {
            let _ = reached.send(());
        }
    }
}

#[cfg(test)]
mod tests;
