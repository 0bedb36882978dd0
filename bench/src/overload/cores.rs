//! One core for the server and one for its clients.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::failure::Failure;

/// Two of the cores that this process may use.
pub(super) struct Cores {
    all: CpuSet,
    first: usize,
    second: usize,
}

pub(super) fn two() -> Result<Cores, Failure> {
    let all = sched_getaffinity(None).map_err(failed)?;
    let mut usable = (0..CpuSet::MAX_CPU).filter(|core| all.is_set(*core));
    match (usable.next(), usable.next()) {
        (Some(first), Some(second)) => Ok(Cores { all, first, second }),
        _ => Err(Failure::Usage("case 15 needs two cores; leave it out with `--only`".to_owned())),
    }
}

impl Cores {
    /// Runs some work on the first core; child processes stay there.
    pub(super) fn on_first<T>(
        &self,
        work: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.on(self.first, work)
    }

    /// Runs some work on the second core, with the threads that it starts.
    pub(super) fn on_second<T>(
        &self,
        work: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.on(self.second, work)
    }

    fn on<T>(&self, core: usize, work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        let mut only = CpuSet::new();
        only.set(core);
        sched_setaffinity(None, &only).map_err(failed)?;
        let worked = work();
        sched_setaffinity(None, &self.all).map_err(failed)?;
        worked
    }
}

fn failed(cause: rustix::io::Errno) -> Failure {
    Failure::Step(format!("a thread can't be kept on one core: {cause}"))
}
