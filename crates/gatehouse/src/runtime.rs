//! Running a command's future.

use std::pin::Pin;

use tokio::runtime::{Builder, Runtime};

/// A single-threaded runtime.
pub(crate) fn single_threaded() -> Result<Runtime, String> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|cause| format!("no thread to run on: {cause}"))
}

/// Runs a future on a single-threaded runtime.
pub(crate) fn run<T, E: From<String>>(work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    let runtime = single_threaded()?;
    let mut outcome = None;
    // Erased, so that the runtime's loop is compiled once and not once for each command.
    let work: Pin<Box<dyn Future<Output = ()> + '_>> =
        Box::pin(async { outcome = Some(work.await) });
    runtime.block_on(work);
    // A thread may still wait for typed input that is no longer needed.
    runtime.shutdown_background();
    outcome.expect("work that has ended has left its outcome")
}
