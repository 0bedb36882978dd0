//! CPU that other processes have used.
//!
//! The kernel's statistics of each thread count in nanoseconds (`schedstat`); those of a whole process count in ticks
//! of ten milliseconds, which are hundreds of requests. A thread that has ended takes its statistics with it: what it
//! used since the first reading is lost, and nothing else. The server's requests run on threads that don't end.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::time::Duration;

/// CPU of every thread at one moment, by thread ID.
#[derive(Clone, Debug, Default)]
pub(crate) struct CpuReading(HashMap<i32, u64>);

impl CpuReading {
    /// The threads of one process.
    pub(crate) fn of_process(process_id: i32) -> io::Result<Self> {
        let mut reading = Self::default();
        reading.add_threads(process_id)?;
        Ok(reading)
    }

    /// The threads of one process and its children: a PostgreSQL cluster.
    pub(crate) fn of_family(parent_id: i32) -> io::Result<Self> {
        let mut reading = Self::of_process(parent_id)?;
        for entry in fs::read_dir("/proc")?.flatten() {
            let process_id = entry.file_name().to_str().and_then(|name| name.parse().ok());
            let Some(process_id) = process_id else { continue };
            // A process that has just ended is skipped.
            if parent_of(process_id).is_ok_and(|parent| parent == parent_id) {
                let _ = reading.add_threads(process_id);
            }
        }
        Ok(reading)
    }

    /// CPU that was used since an earlier reading.
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
            // A thread may end after it was listed.
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

pub(crate) fn parent_of(process_id: i32) -> io::Result<i32> {
    let text = fs::read_to_string(format!("/proc/{process_id}/stat"))?;
    // The name in parentheses may contain anything; state and parent follow it.
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
    fn ending_threads_never_make_a_reading_negative() {
        let earlier = CpuReading(HashMap::from([(1, 1000), (2, 500)]));
        let later = CpuReading(HashMap::from([(1, 1600), (3, 70)]));
        assert_eq!(later.since(&earlier), Duration::from_nanos(670));
    }

    #[test]
    fn a_process_has_a_reading_and_a_parent() {
        let own = std::process::id() as i32;
        assert!(!CpuReading::of_process(own).unwrap().0.is_empty());
        assert_eq!(parent_of(own).unwrap() as u32, std::os::unix::process::parent_id());
    }
}
