//! Files for credentials: only their owner can read them, they are there whole or not at all, and nothing that is
//! there already is lost.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Read and write for the owner, nothing for others.
const OWNER_ONLY: u32 = 0o600;

/// A file that is being written. Until it is finished, it has another name; dropped before, it is gone.
pub(crate) struct PrivateFile {
    file: File,
    unfinished: PathBuf,
    path: PathBuf,
    overwrites: bool,
}

/// Whether something may be written there, before anything is done that it is needed for.
pub(crate) fn check(path: &Path, overwrites: bool) -> Result<(), Failure> {
    PrivateFile::create(path, overwrites).map(drop)
}

/// Whether something may be written here, under a name that nothing has.
pub(crate) fn check_here() -> Result<(), Failure> {
    let name = format!("gatehouse-{:08x}", u32::from_be_bytes(gatehouse_vault::random::bytes()));
    check(Path::new(&name), false)
}

impl PrivateFile {
    pub(crate) fn create(path: &Path, overwrites: bool) -> Result<Self, Failure> {
        let shown = path.display();
        if path.exists() && !path.is_file() {
            return Err(Failure::input(format!("{shown} is no file, where one is expected")));
        }
        if !overwrites && path.symlink_metadata().is_ok() {
            return Err(taken(path));
        }
        let Some(name) = path.file_name() else {
            return Err(Failure::input(format!("{shown} names no file")));
        };
        let chance = u32::from_be_bytes(gatehouse_vault::random::bytes());
        let name = format!(".{}.{chance:08x}.unfinished", name.to_string_lossy());
        let unfinished = path.with_file_name(name);
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(OWNER_ONLY).open(&unfinished);
        let file =
            file.map_err(|cause| Failure::input(format!("{shown} can't be written: {cause}")))?;
        Ok(Self { file, unfinished, path: path.to_owned(), overwrites })
    }

    /// Puts the file where it is wanted, once all of it is on the disk.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let shown = self.path.display();
        let bad = |cause| Failure::from(format!("{shown} can't be written: {cause}"));
        self.file.sync_all().map_err(bad)?;
        if self.overwrites {
            return fs::rename(&self.unfinished, &self.path).map_err(bad);
        }
        // Unlike a new name, a second one never replaces what somebody else has put there meanwhile.
        match fs::hard_link(&self.unfinished, &self.path) {
            Ok(()) => Ok(()),
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Err(taken(&self.path)),
            // Some file systems know no second names.
            Err(_) if self.path.symlink_metadata().is_err() => {
                fs::rename(&self.unfinished, &self.path).map_err(bad)
            }
            Err(cause) => Err(bad(cause)),
        }
    }
}

impl Drop for PrivateFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.unfinished);
    }
}

impl Write for PrivateFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn taken(path: &Path) -> Failure {
    Failure::input(format!("{} is there already, and is not overwritten", path.display()))
        .advise("choose another name with --to, or give --force")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_is_there_whole_and_for_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fleet.csv");
        let mut file = PrivateFile::create(&path, false).unwrap();
        file.write_all(b"secret").unwrap();
        assert!(!path.exists(), "not before it is finished");
        file.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"secret");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn nothing_is_overwritten_unless_that_is_wanted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fleet.csv");
        let mut late = PrivateFile::create(&path, false).unwrap();
        late.write_all(b"late").unwrap();
        fs::write(&path, "first").unwrap();
        assert!(check(&path, false).is_err());
        assert!(late.finish().is_err(), "somebody was faster");
        assert_eq!(fs::read(&path).unwrap(), b"first");
        let mut new = PrivateFile::create(&path, true).unwrap();
        new.write_all(b"new").unwrap();
        new.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(check(&dir.path().join("no/where.csv"), false).is_err());
        assert!(check(dir.path(), true).is_err());
    }
}
