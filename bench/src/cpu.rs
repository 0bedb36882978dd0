//! How much of a processor other processes have used.
//!
//! The kernel's accounts of each thread count in nanoseconds (`schedstat`); those of a whole process
//! count in ticks of ten milliseconds, which are hundreds of requests. A thread that has ended takes
//! its account with it: what it used since the first look is lost, and nothing else is. The server's
//! requests run on threads that stay.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::time::Duration;

/// What every thread had used at one moment, by its id.
#[derive(Clone, Debug, Default)]
pub(crate) struct CpuReading(HashMap<i32, u64>);

impl CpuReading {
    /// All threads of one process.
    pub(crate) fn of_process(process_id: i32) -> io::Result<Self> {
        let mut reading = Self::default();
        reading.add_threads(process_id)?;
        Ok(reading)
    }

    /// All children of one process, and itself: a PostgreSQL cluster.
    pub(crate) fn of_family(parent_id: i32) -> io::Result<Self> {
        let mut reading = Self::of_process(parent_id)?;
        for entry in fs::read_dir("/proc")?.flatten() {
            let process_id = entry.file_name().to_str().and_then(|name| name.parse().ok());
            let Some(process_id) = process_id else { continue };
            // One that has just ended is not missed.
            if parent_of(process_id).is_ok_and(|parent| parent == parent_id) {
                let _ = reading.add_threads(process_id);
            }
        }
        Ok(reading)
    }

    /// What was used since an earlier reading.
    pub(crate) fn since(&self, earlier: &Self) -> Duration {
        let used = self.0.iter().map(|(thread, now)| {
            let before = earlier.0.get(thread).copied().unwrap_or_default();
            now.saturating_sub(before)
        });
        Duration::from_nanos(used.sum())
    }

    fn add_threads(&mut self, process_id: i32) -> io::Result<()> {
        for entry in fs::read_dir(format!("/proc/{process_id}/task"))? {
            let entry = entry?;
            // A thread may end between the list and the look.
            let Ok(text) = fs::read_to_string(entry.path().join("schedstat")) else { continue };
            let thread = entry.file_name().to_str().and_then(|name| name.parse().ok());
            let used = text.split(' ').next().and_then(|first| first.parse().ok());
            if let (Some(thread), Some(used)) = (thread, used) {
                self.0.insert(thread, used);
            }
        }
        Ok(())
    }
}

/// The process that has started this one.
pub(crate) fn parent_of(process_id: i32) -> io::Result<i32> {
    let text = fs::read_to_string(format!("/proc/{process_id}/stat"))?;
    // The name in parentheses may hold anything; behind it come state and parent.
    let behind_name = text.rsplit_once(") ").map(|(_, rest)| rest);
    behind_name
        .and_then(|rest| rest.split(' ').nth(1))
        .and_then(|parent| parent.parse().ok())
        .ok_or_else(|| io::Error::other("an account of the kernel's can't be read"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_come_and_go_never_make_it_negative() {
        let earlier = CpuReading(HashMap::from([(1, 1000), (2, 500)]));
        let later = CpuReading(HashMap::from([(1, 1600), (3, 70)]));
        assert_eq!(later.since(&earlier), Duration::from_nanos(670));
    }

    #[test]
    fn a_process_can_be_read_and_has_a_parent() {
        let own = std::process::id() as i32;
        assert!(!CpuReading::of_process(own).unwrap().0.is_empty());
        assert_eq!(parent_of(own).unwrap() as u32, std::os::unix::process::parent_id());
    }
}
