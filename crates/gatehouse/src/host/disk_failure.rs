//! Ends the process when the disk under the embedded store has failed.
//!
//! Nothing may be cleaned up then: closing the database writes to it, and the next start has only what is on the disk
//! at that moment. So the process exits as it is, once the waiting clients have their responses.

use std::thread;
use std::time::Duration;

use gatehouse_server::serve::Disk;

use crate::failure::{Failure, FailureKind};
use crate::terminal::screen::print_notice;

/// Time for the last responses, during which readiness reports the failure.
const LAST_RESPONSES: Duration = Duration::from_millis(500);

/// Ends the process when the disk fails. Waits on a thread of its own, because all others may be waiting for the disk.
pub(crate) fn exit_on_failure(disk: &Disk) -> Result<(), String> {
    let failure = disk.wait_for_failure();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|cause| format!("no thread to run on: {cause}"))?;
    let waiting = thread::Builder::new().name("disk-failure".into()).spawn(move || {
        let why = runtime.block_on(async {
            let why = failure.await;
            tokio::time::sleep(LAST_RESPONSES).await;
            why
        });
        print_notice(&format!("gatehouse: {}", disk_failed(&why)));
        std::process::exit(FailureKind::Disk as i32);
    });
    waiting.map(drop).map_err(|cause| format!("no thread to run on: {cause}"))
}

/// The failure that the process ends with.
pub(crate) fn disk_failed(why: &str) -> Failure {
    Failure::new(FailureKind::Disk, format!("the store stopped, because its disk failed: {why}")).advise(
        "repair or replace the disk, then start again: every confirmed write is recovered, and checked first",
    )
}
