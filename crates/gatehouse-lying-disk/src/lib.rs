//! A disk for tests that fails on demand.
//!
//! The disk is between SQLite and the file system (`vfs`). Each file has a cached and a durable image. The file itself
//! is the cached image: a read sees the last write. The durable image is separate (`image`): a flush brings writes
//! there. A write whose flush fails may never become durable, though reads still see it and the next flush succeeds.
//! Linux treats a disk with a transient failure in this way.
//!
//! A [`Plan`] says at which call the disk fails, and how. [`Disk::after_power_cut`] gives the files after a power cut:
//! all flushed writes, and some of the others, torn and in any order.
//!
//! The only `unsafe` code of the project is here, and no released program contains it.

mod image;
mod plan;
mod vfs;

pub use plan::{Call, Failure, Plan};

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gatehouse_testing::SeededRandom;
use image::Image;
use parking_lot::Mutex;

/// A disk that fails by plan. It is never freed, because SQLite may call it at any time.
pub struct Disk {
    name: String,
    state: Mutex<State>,
}

pub(crate) struct State {
    pub(crate) files: BTreeMap<PathBuf, Image>,
    plan: Option<Plan>,
    random: SeededRandom,
    /// Every call so far, in order.
    calls: Vec<Call>,
    /// Whether the planned call has happened.
    has_failed: bool,
    is_off: bool,
}

/// Outcome of a call to the disk.
pub(crate) enum CallOutcome {
    Done,
    Fails(Failure),
}

impl State {
    /// Counts a call, and decides its outcome.
    pub(crate) fn next_outcome(&mut self, call: Call) -> CallOutcome {
        let nth = self.calls.len();
        self.calls.push(call);
        if self.is_off {
            return CallOutcome::Fails(Failure::PowerCut);
        }
        let Some(plan) = &self.plan else { return CallOutcome::Done };
        if !plan.applies_to(nth, call) {
            return CallOutcome::Done;
        }
        self.has_failed = true;
        self.is_off = plan.failure == Failure::PowerCut;
        CallOutcome::Fails(plan.failure)
    }

    pub(crate) fn random(&mut self) -> &mut SeededRandom {
        &mut self.random
    }

    /// The image of a file, and the random numbers for its failures.
    pub(crate) fn file(&mut self, path: &Path) -> Option<(&mut Image, &mut SeededRandom)> {
        Some((self.files.get_mut(path)?, &mut self.random))
    }
}

impl Disk {
    /// Makes a disk that SQLite knows as [`Disk::name`]. All randomness follows from the seed.
    pub fn new(seed: u64) -> &'static Self {
        let state = State {
            files: BTreeMap::new(),
            plan: None,
            random: SeededRandom(seed),
            calls: Vec::new(),
            has_failed: false,
            is_off: false,
        };
        vfs::register(|name| Self { name, state: Mutex::new(state) })
    }

    /// Name of the disk's VFS in SQLite.
    pub fn name(&'static self) -> &'static str {
        &self.name
    }

    /// Makes the disk fail by this plan, and counts calls from 0 again.
    pub fn follow(&self, plan: Option<Plan>) {
        let mut state = self.state.lock();
        (state.plan, state.has_failed, state.is_off) = (plan, false, false);
        state.calls.clear();
    }

    /// Calls since the plan was set.
    pub fn calls(&self) -> Vec<Call> {
        self.state.lock().calls.clone()
    }

    /// Whether the planned failure has happened.
    pub fn has_failed(&self) -> bool {
        self.state.lock().has_failed
    }

    /// Writes the files as a power cut leaves them into another directory: all flushed writes, and a random part of the
    /// others.
    pub fn after_power_cut(&self, directory: &Path) -> std::io::Result<()> {
        self.write_out(directory, |image, random| image.after_power_cut(random))
    }

    /// Writes the durable files after a complete write-back into another directory: everything but the writes that a
    /// failed flush has lost.
    pub fn after_reading_anew(&self, directory: &Path) -> std::io::Result<()> {
        self.write_out(directory, |image, _| image.after_reading_anew())
    }

    fn write_out(
        &self,
        directory: &Path,
        found: impl Fn(&Image, &mut SeededRandom) -> Option<Vec<u8>>,
    ) -> std::io::Result<()> {
        let mut state = self.state.lock();
        let State { files, random, .. } = &mut *state;
        for (path, image) in files {
            if let (Some(name), Some(bytes)) = (path.file_name(), found(image, random)) {
                std::fs::write(directory.join(name), bytes)?;
            }
        }
        Ok(())
    }

    /// Copies the disk for the next process, without its plan, with its files in another directory. Cached images stay
    /// cached, lost writes included.
    pub fn for_next_process(&self, directory: &Path) -> std::io::Result<&'static Self> {
        let next = Self::new(self.state.lock().random.roll(u64::MAX));
        for (path, image) in &self.state.lock().files {
            let Some(name) = path.file_name() else { continue };
            let there = directory.join(name);
            match std::fs::copy(path, &there) {
                Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => continue,
                copied => copied?,
            };
            next.state.lock().files.insert(there, image.clone());
        }
        Ok(next)
    }

    /// Drops all images. No connection may use the files any more.
    pub fn forget(&self) {
        self.state.lock().files.clear();
    }
}
