//! Replacing the store in a data directory, in steps that can be interrupted anywhere.
//!
//! A directory inside the data directory holds the new store; its name tells the progress:
//!
//! 1. `restore-copying`: the backup is being copied. The old store is complete and in place. The next run starts over.
//! 2. `restore-ready`: the copy is complete. The files of the old store are moved out, into `replaced-…`.
//! 3. `restore-moving-in`: the old files are out. The new ones are moved in; then the directory is removed.
//!
//! A directory gets its next name when everything before has reached the disk. Within a step the order of files doesn't
//! matter: repeating the step does what is left of it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::backup::{BackupError, copy, make_directory, of, sync_directory};
use crate::config::DATABASE_FILE;
use crate::keys;

const COPYING: &str = "restore-copying";
const READY: &str = "restore-ready";
const MOVING_IN: &str = "restore-moving-in";

/// File in the directory with the restore's plan.
const PLAN: &str = "plan";

/// The store's write-ahead log.
const LOG_FILE: &str = "gatehouse.db-wal";

/// A restore in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Name of the directory for the old store.
    pub(super) replaced: String,
    /// The backup.
    pub(super) from: PathBuf,
}

/// The directory of an interrupted restore that must be completed.
pub(super) fn unfinished(data_dir: &Path) -> Option<PathBuf> {
    [READY, MOVING_IN].map(|name| data_dir.join(name)).into_iter().find(|path| path.exists())
}

/// Whether a file in the data directory belongs to the store, keys aside: the database, its log, and files named after
/// it, also with a leading dot (Litestream's state).
fn belongs_to_store(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name.strip_prefix(b".").unwrap_or(name).starts_with(DATABASE_FILE.as_bytes())
}

/// Changes files. Calls the failpoint before each step, so that a test can interrupt it.
pub(super) struct Swap<'a> {
    data_dir: &'a Path,
    failpoint: &'a mut (dyn FnMut() -> io::Result<()> + Send),
}

impl<'a> Swap<'a> {
    pub(super) fn new(
        data_dir: &'a Path,
        failpoint: &'a mut (dyn FnMut() -> io::Result<()> + Send),
    ) -> Self {
        Self { data_dir, failpoint }
    }

    /// Copies a backup next to the store and returns its directory. Nothing else changes until [`Swap::commit`].
    pub(super) fn copy(&mut self, from: &Path) -> Result<PathBuf, BackupError> {
        self.discard_copy();
        let staging = self.data_dir.join(COPYING);
        make_directory(&staging)?;
        let log =
            Some(LOG_FILE).filter(|name| from.join(name).metadata().is_ok_and(|it| it.len() > 0));
        let keys = keys::FILES.into_iter().filter(|name| from.join(name).is_file());
        for name in [DATABASE_FILE].into_iter().chain(log).chain(keys) {
            self.pass(&staging)?;
            copy(&from.join(name), &staging.join(name))?;
        }
        Ok(staging)
    }

    /// Removes a refused or incomplete copy.
    pub(super) fn discard_copy(&mut self) {
        // A copy that can't be removed makes the next one fail.
        let _ = fs::remove_dir_all(self.data_dir.join(COPYING));
    }

    /// Puts the copy in place of the store, which moves to a directory named by `time`.
    pub(super) fn commit(&mut self, from: &Path, time: &str) -> Result<Plan, BackupError> {
        let staging = self.data_dir.join(COPYING);
        // Checking the copy may have left these; an empty log holds nothing.
        let _ = fs::remove_file(staging.join("gatehouse.db-shm"));
        if staging.join(LOG_FILE).metadata().is_ok_and(|it| it.len() == 0) {
            let _ = fs::remove_file(staging.join(LOG_FILE));
        }
        let names = (1..).map(|n| match n {
            1 => format!("replaced-{time}"),
            n => format!("replaced-{time}-{n}"),
        });
        let is_free = |name: &String| !self.data_dir.join(name).exists();
        let replaced = { names }.find(is_free).unwrap_or_default();
        let plan = Plan { replaced, from: from.to_owned() };
        let file = staging.join(PLAN);
        let mut text = format!("{}\n", plan.replaced).into_bytes();
        text.extend(from.as_os_str().as_bytes());
        self.pass(&file)?;
        let written = fs::write(&file, text).and_then(|()| fs::File::open(&file)?.sync_all());
        written.map_err(of(&file))?;
        self.sync(&staging)?;
        self.rename(COPYING, READY)?;
        self.finish().map(|_| plan)
    }

    /// Completes an interrupted restore; `None` if there is none.
    pub(super) fn finish(&mut self) -> Result<Option<Plan>, BackupError> {
        let mut plan = None;
        let ready = self.data_dir.join(READY);
        if ready.is_dir() {
            let read = read_plan(&ready)?;
            self.move_out(&ready, &read)?;
            self.rename(READY, MOVING_IN)?;
            plan = Some(read);
        }
        let moving_in = self.data_dir.join(MOVING_IN);
        if moving_in.is_dir() {
            plan = plan.or_else(|| read_plan(&moving_in).ok());
            self.move_in(&moving_in)?;
        }
        Ok(plan)
    }

    /// Moves the old store out: its files, and the keys that the new one replaces.
    fn move_out(&mut self, ready: &Path, plan: &Plan) -> Result<(), BackupError> {
        let brought = keys::FILES.into_iter().filter(|name| ready.join(name).is_file());
        let mut names: Vec<OsString> = brought.map(OsString::from).collect();
        names.retain(|name| self.data_dir.join(name).exists());
        names.extend(names_in(self.data_dir)?.into_iter().filter(|name| belongs_to_store(name)));
        if names.is_empty() {
            return Ok(());
        }
        let replaced = self.data_dir.join(&plan.replaced);
        make_directory(&replaced)?;
        for name in names {
            let (from, to) = (self.data_dir.join(&name), replaced.join(&name));
            self.pass(&from)?;
            fs::rename(&from, &to).map_err(of(&from))?;
        }
        self.sync(&replaced)?;
        let data_dir = self.data_dir;
        self.sync(data_dir)
    }

    fn move_in(&mut self, moving_in: &Path) -> Result<(), BackupError> {
        // The plan goes last, so that the next run knows what it completes.
        for name in names_in(moving_in)?.into_iter().filter(|name| name != PLAN) {
            let (from, to) = (moving_in.join(&name), self.data_dir.join(&name));
            self.pass(&from)?;
            fs::rename(&from, &to).map_err(of(&from))?;
        }
        let data_dir = self.data_dir;
        self.sync(data_dir)?;
        self.pass(moving_in)?;
        fs::remove_dir_all(moving_in).map_err(of(moving_in))?;
        self.sync(data_dir)
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), BackupError> {
        let data_dir = self.data_dir;
        let (from, to) = (data_dir.join(from), data_dir.join(to));
        self.pass(&from)?;
        fs::rename(&from, &to).map_err(of(&from))?;
        self.sync(data_dir)
    }

    fn sync(&mut self, directory: &Path) -> Result<(), BackupError> {
        self.pass(directory)?;
        sync_directory(directory)
    }

    fn pass(&mut self, path: &Path) -> Result<(), BackupError> {
        (self.failpoint)().map_err(of(path))
    }
}

fn read_plan(directory: &Path) -> Result<Plan, BackupError> {
    let file = directory.join(PLAN);
    let text = fs::read(&file).map_err(of(&file))?;
    let mut parts = text.splitn(2, |byte| *byte == b'\n').map(<[u8]>::to_vec);
    let replaced = String::from_utf8_lossy(&parts.next().unwrap_or_default()).into_owned();
    let from = OsString::from_vec(parts.next().unwrap_or_default()).into();
    Ok(Plan { replaced, from })
}

fn names_in(directory: &Path) -> Result<Vec<OsString>, BackupError> {
    let entries = fs::read_dir(directory).map_err(of(directory))?;
    entries.map(|entry| entry.map(|it| it.file_name()).map_err(of(directory))).collect()
}
