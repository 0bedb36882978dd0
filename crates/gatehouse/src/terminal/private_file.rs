//! Files for credentials: only their owner can read them, they appear complete or not at all, and never replace an
//! existing file unasked.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Read and write for the owner only.
const OWNER_ONLY: u32 = 0o600;

/// A file being written, under a temporary name until `finish`; dropping it deletes it.
pub(crate) struct PrivateFile {
    file: File,
    unfinished: PathBuf,
    path: PathBuf,
    overwrites: bool,
}

/// Fails unless the file can be written. Called before the work whose result goes there.
pub(crate) fn check(path: &Path, overwrites: bool) -> Result<(), Failure> {
    PrivateFile::create(path, overwrites).map(drop)
}

/// Fails unless a new file can be written in the current directory.
pub(crate) fn check_here() -> Result<(), Failure> {
    let name = format!("gatehouse-{:08x}", u32::from_be_bytes(gatehouse_vault::random::bytes()));
    check(Path::new(&name), false)
}

impl PrivateFile {
    pub(crate) fn create(path: &Path, overwrites: bool) -> Result<Self, Failure> {
        let shown = path.display();
        if path.exists() && !path.is_file() {
            return Err(Failure::input(format!("{shown} is not a file")));
        }
        if !overwrites && path.symlink_metadata().is_ok() {
            return Err(exists_failure(path));
        }
        let Some(name) = path.file_name() else {
            return Err(Failure::input(format!("{shown} names no file")));
        };
        let random = u32::from_be_bytes(gatehouse_vault::random::bytes());
        let name = format!(".{}.{random:08x}.unfinished", name.to_string_lossy());
        let unfinished = path.with_file_name(name);
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(OWNER_ONLY).open(&unfinished);
        let file =
            file.map_err(|cause| Failure::input(format!("{shown} can't be written: {cause}")))?;
        Ok(Self { file, unfinished, path: path.to_owned(), overwrites })
    }

    /// Gives the file its name, once its content is on the disk.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let shown = self.path.display();
        let bad = |cause| Failure::from(format!("{shown} can't be written: {cause}"));
        self.file.sync_all().map_err(bad)?;
        if self.overwrites {
            return fs::rename(&self.unfinished, &self.path).map_err(bad);
        }
        // Unlike a rename, a hard link never replaces a file that appeared meanwhile.
        match fs::hard_link(&self.unfinished, &self.path) {
            Ok(()) => Ok(()),
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
                Err(exists_failure(&self.path))
            }
            // Some file systems have no hard links.
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

fn exists_failure(path: &Path) -> Failure {
    Failure::input(format!("{} exists already, and is not overwritten", path.display()))
        .advise("choose another name with --to, or give --force")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_appears_complete_and_private_to_its_owner() {
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
    fn nothing_is_overwritten_without_the_flag() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fleet.csv");
        let mut late = PrivateFile::create(&path, false).unwrap();
        late.write_all(b"late").unwrap();
        fs::write(&path, "first").unwrap();
        assert!(check(&path, false).is_err());
        assert!(late.finish().is_err(), "another file appeared first");
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
