//! Noticing that nothing has been written for a while: then the writer needs little memory, and has time to move the log.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use crate::error::StoreError;

/// How long it is quiet before the writer is taken to be at rest: longer than between two batches of somebody who makes
/// one after the other.
const QUIET: Duration = Duration::from_secs(5);

/// Starts a thread that calls `at_rest` each time that something was written and no more comes. It is told of writes
/// by the sender, and ends with it.
pub(super) fn watch(at_rest: impl Fn() + Send + 'static) -> Result<SyncSender<()>, StoreError> {
    // One is enough, however many commits tell.
    let (wrote, writes) = sync_channel(1);
    std::thread::Builder::new()
        .name("sqlite-rest".into())
        .spawn(move || watch_until_closed(&writes, QUIET, at_rest))
        .map_err(|cause| StoreError::Unavailable(cause.into()))?;
    Ok(wrote)
}

fn watch_until_closed(writes: &Receiver<()>, quiet: Duration, at_rest: impl Fn()) {
    while writes.recv().is_ok() {
        loop {
            match writes.recv_timeout(quiet) {
                Ok(()) => {}
                Err(RecvTimeoutError::Timeout) => break at_rest(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_writer_is_at_rest_once_after_all_that_it_wrote() {
        let (wrote, writes) = sync_channel(1);
        let (rested, rests) = sync_channel(8);
        let thread = std::thread::spawn(move || {
            let at_rest = || rested.send(()).unwrap();
            watch_until_closed(&writes, Duration::from_millis(1), at_rest);
        });
        for _ in 0..2 {
            wrote.send(()).unwrap();
            rests.recv().unwrap();
        }
        drop(wrote);
        thread.join().unwrap();
        assert!(rests.recv().is_err(), "who writes nothing more rests no more");
    }
}
