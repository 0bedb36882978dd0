//! A disk for tests that fails when it is told to.
//!
//! It stands between SQLite and the file system (`vfs`). The files themselves hold what the system's memory would: whoever
//! reads sees what was written last. What a disk would hold of each file is kept apart (`image`): a write gets there
//! by a flush, and where the flush fails it may never get there, though everyone who reads still sees it, and the
//! next flush goes well. That is how Linux treats a disk that fails for a moment.
//!
//! A [`Plan`] says at which call it fails, and how. After a power cut, [`Disk::after_power_cut`] gives the files as
//! somebody finds them: what was flushed, and of the rest some, torn and in any order.
//!
//! The only `unsafe` code of the project is here, and no program that is shipped contains it.

mod image;
mod plan;
mod vfs;

pub use plan::{Call, Failure, Plan};

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use gatehouse_testing::Dice;
use image::Image;

/// A disk. It lives as long as the process, because SQLite may ask for it at any time.
pub struct Disk {
    name: String,
    state: Mutex<State>,
}

pub(crate) struct State {
    pub(crate) files: BTreeMap<PathBuf, Image>,
    plan: Option<Plan>,
    dice: Dice,
    /// Every call so far, in order.
    calls: Vec<Call>,
    /// Whether the plan's call has come.
    has_failed: bool,
    is_off: bool,
}

/// What becomes of a call.
pub(crate) enum Fate {
    Done,
    Fails(Failure),
}

impl State {
    /// Counts a call, and says what becomes of it.
    pub(crate) fn meet(&mut self, call: Call) -> Fate {
        let nth = self.calls.len();
        self.calls.push(call);
        if self.is_off {
            return Fate::Fails(Failure::PowerCut);
        }
        let Some(plan) = &self.plan else { return Fate::Done };
        if !plan.meets(nth, call) {
            return Fate::Done;
        }
        self.has_failed = true;
        self.is_off = plan.failure == Failure::PowerCut;
        Fate::Fails(plan.failure)
    }

    pub(crate) fn dice(&mut self) -> &mut Dice {
        &mut self.dice
    }

    /// The files, and what chance decides about them.
    pub(crate) fn file(&mut self, path: &Path) -> Option<(&mut Image, &mut Dice)> {
        Some((self.files.get_mut(path)?, &mut self.dice))
    }
}

impl Disk {
    /// A new disk, known to SQLite under [`Disk::name`]. What chance decides follows from the seed.
    pub fn new(seed: u64) -> &'static Self {
        let state = State {
            files: BTreeMap::new(),
            plan: None,
            dice: Dice(seed),
            calls: Vec::new(),
            has_failed: false,
            is_off: false,
        };
        vfs::register(|name| Self { name, state: Mutex::new(state) })
    }

    /// The name by which SQLite knows it.
    pub fn name(&'static self) -> &'static str {
        &self.name
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has it fail by this plan from now on; calls are counted from now on, too.
    pub fn follow(&self, plan: Option<Plan>) {
        let mut state = self.state();
        (state.plan, state.has_failed, state.is_off) = (plan, false, false);
        state.calls.clear();
    }

    /// The calls that have come since the plan was made.
    pub fn calls(&self) -> Vec<Call> {
        self.state().calls.clone()
    }

    /// Whether it has failed as planned.
    pub fn has_failed(&self) -> bool {
        self.state().has_failed
    }

    /// Writes the files as somebody finds them who cuts the power now, in another directory: what was flushed, and of all
    /// else a part that chance decides.
    pub fn after_power_cut(&self, directory: &Path) -> std::io::Result<()> {
        self.write_out(directory, |image, dice| image.after_power_cut(dice))
    }

    /// Writes the files as somebody finds them whose system has had time to write, and has forgotten what it kept in
    /// memory: all but what a failed flush has lost.
    pub fn after_reading_anew(&self, directory: &Path) -> std::io::Result<()> {
        self.write_out(directory, |image, _| image.after_reading_anew())
    }

    fn write_out(
        &self,
        directory: &Path,
        found: impl Fn(&Image, &mut Dice) -> Option<Vec<u8>>,
    ) -> std::io::Result<()> {
        let mut state = self.state();
        let State { files, dice, .. } = &mut *state;
        for (path, image) in files {
            if let (Some(name), Some(bytes)) = (path.file_name(), found(image, dice)) {
                std::fs::write(directory.join(name), bytes)?;
            }
        }
        Ok(())
    }

    /// The same disk as the next process finds it, well again, with its files in another directory: what the system keeps
    /// in memory is kept, also what a failed flush has lost.
    pub fn for_next_process(&self, directory: &Path) -> std::io::Result<&'static Self> {
        let next = Self::new(self.state().dice.roll(u64::MAX));
        for (path, image) in &self.state().files {
            let Some(name) = path.file_name() else { continue };
            let there = directory.join(name);
            match std::fs::copy(path, &there) {
                Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => continue,
                copied => copied?,
            };
            next.state().files.insert(there, image.clone());
        }
        Ok(next)
    }

    /// Lets go of what it remembers of files. Nobody may use them any more.
    pub fn forget(&self) {
        self.state().files.clear();
    }
}
