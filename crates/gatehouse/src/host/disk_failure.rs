//! Ending the process when the disk under the embedded store has failed.
//!
//! Nothing may be tidied up then: to close the database in order would write to it, and what is on the disk at that
//! moment is all that the next start has. So the process ends as it is, once those who waited have their answers.

use std::thread;
use std::time::Duration;

use gatehouse_server::serve::Disk;

use crate::failure::{Failure, Kind};
use crate::terminal::screen::remark;

/// How long answers may take on their way, and readiness tells why the server is about to end.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// Has the process end when the disk fails. A thread of its own waits for that: all others may be waiting for the disk.
pub(crate) fn end_with(disk: &Disk) -> Result<(), String> {
    let failure = disk.wait_for_failure();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|cause| format!("no thread to run on: {cause}"))?;
    let waiting = thread::Builder::new().name("disk-failure".into()).spawn(move || {
        let why = runtime.block_on(async {
            let why = failure.await;
            tokio::time::sleep(LAST_ANSWERS).await;
            why
        });
        remark(&format!("gatehouse: {}", of_disk(&why)));
        std::process::exit(Kind::Disk as i32);
    });
    waiting.map(drop).map_err(|cause| format!("no thread to run on: {cause}"))
}

/// How the process ends then.
pub(crate) fn of_disk(why: &str) -> Failure {
    Failure::new(Kind::Disk, format!("the store stopped, because its disk failed: {why}")).advise(
        "look at the disk, mend it or take another, then start again: what was answered is taken up, and checked first",
    )
}
