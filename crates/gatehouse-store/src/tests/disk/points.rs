//! Points at which the disk fails, tried by child processes.
//!
//! A store that has stopped keeps its files open until its process exits. So each process tries only some points.

use std::env;
use std::process::Command;

use super::work::RunEnd;

/// Points per process: each leaves about seven open files, and many systems allow 1,024.
const N_PER_PROCESS: usize = 60;

/// Environment variable with a child process's points. Another one proves that its parent is this test.
const VARIABLE: &str = "DISK_POINTS";
const PARENT: &str = "DISK_POINTS_PARENT";

/// Prefix of the line in which a child process reports its counts.
const COUNTED: &str = "points tried and stores stopped:";

/// Number of points that were tried, and of those at which the store stopped.
#[derive(Clone, Copy, Default)]
pub(super) struct Tally {
    pub(super) n_tried: usize,
    pub(super) n_stopped: usize,
}

/// Tries all points of a test of `tests::disk`, in child processes that run the same test. `try_one` returns how the
/// store ended, or `None` where the disk didn't fail.
///
/// The tally is `None` in a child process, whose part of the test ends here.
pub(super) async fn try_each(
    test: &str,
    points: &[usize],
    try_one: impl AsyncFn(usize) -> Option<RunEnd>,
) -> Option<Tally> {
    if let Ok(mine) = env::var(VARIABLE) {
        let parent = env::var(PARENT).ok().and_then(|id| id.parse().ok());
        assert_eq!(parent, Some(std::os::unix::process::parent_id()), "{VARIABLE} is for children");
        let mut tally = Tally::default();
        for point in mine.split(',') {
            let ended = try_one(point.parse().unwrap()).await;
            tally.n_tried += usize::from(ended.is_some());
            tally.n_stopped += usize::from(ended == Some(RunEnd::Stopped));
        }
        println!("\n{COUNTED} {} {}", tally.n_tried, tally.n_stopped);
        return None;
    }
    let mut sum = Tally::default();
    for part in points.chunks(N_PER_PROCESS) {
        let part = try_part(test, part);
        sum.n_tried += part.n_tried;
        sum.n_stopped += part.n_stopped;
    }
    Some(sum)
}

/// Runs a child process that tries some points.
fn try_part(test: &str, points: &[usize]) -> Tally {
    let points: Vec<String> = points.iter().map(usize::to_string).collect();
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", &format!("tests::disk::{test}"), "--nocapture"])
        .env(VARIABLE, points.join(","))
        .env(PARENT, std::process::id().to_string())
        .output()
        .unwrap();
    let (said, cause) =
        (String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
    assert!(child.status.success(), "{test} at one of {points:?}:\n{said}\n{cause}");
    let counted = said.lines().find_map(|line| line.strip_prefix(COUNTED));
    let counted = counted.unwrap_or_else(|| panic!("{test} did not run in the child:\n{said}"));
    let counted: Vec<usize> =
        counted.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let [n_tried, n_stopped] = counted[..] else { panic!("{counted:?}") };
    Tally { n_tried, n_stopped }
}
