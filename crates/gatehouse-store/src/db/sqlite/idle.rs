//! A timer that fires when nothing has been written for a while: the writer can then free memory and checkpoint the
//! log.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use crate::error::StoreError;

/// Time without writes after which the writer is idle: longer than the pause between two batches of one client.
const IDLE_AFTER: Duration = Duration::from_secs(5);

/// Starts a thread that calls `on_idle` once after each series of writes. Every write notifies it through the sender;
/// the thread ends when the sender is dropped.
pub(super) fn start_timer(
    on_idle: impl Fn() + Send + 'static,
) -> Result<SyncSender<()>, StoreError> {
    // One pending notification covers any number of commits.
    let (wrote, writes) = sync_channel(1);
    std::thread::Builder::new()
        .name("sqlite-idle".into())
        .spawn(move || run_timer(&writes, IDLE_AFTER, on_idle))
        .map_err(|cause| StoreError::Unavailable(cause.into()))?;
    Ok(wrote)
}

fn run_timer(writes: &Receiver<()>, idle_after: Duration, on_idle: impl Fn()) {
    while writes.recv().is_ok() {
        loop {
            match writes.recv_timeout(idle_after) {
                Ok(()) => {}
                Err(RecvTimeoutError::Timeout) => break on_idle(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timer_fires_once_after_each_series_of_writes() {
        let (wrote, writes) = sync_channel(1);
        let (idled, idles) = sync_channel(8);
        let thread = std::thread::spawn(move || {
            let on_idle = || idled.send(()).unwrap();
            run_timer(&writes, Duration::from_millis(1), on_idle);
        });
        for _ in 0..2 {
            wrote.send(()).unwrap();
            idles.recv().unwrap();
        }
        drop(wrote);
        thread.join().unwrap();
        assert!(idles.recv().is_err(), "an idle writer fires the timer again");
    }
}
