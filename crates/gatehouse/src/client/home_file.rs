//! Files in the user's home directory: private to the user, and locked against concurrent commands.

use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::failure::Failure;
use crate::terminal::private_file::PrivateFile;

/// Most bytes read from a file.
const BYTES_MAX: u64 = 1 << 20;

/// Creates a directory for the owner alone, with its parents. An existing one keeps its permissions.
pub(crate) fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Creates a directory for the owner alone; also restricts an existing one.
pub(crate) fn make_private_directory(path: &Path) -> io::Result<()> {
    make_directory(path)?;
    if std::fs::metadata(path)?.mode() & 0o077 != 0 {
        std::fs::set_permissions(path, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Replaces a whole file: a reader sees the old or the new content.
pub(crate) fn write(path: &Path, content: &[u8]) -> Result<(), Failure> {
    let mut file = PrivateFile::create(path, true)?;
    let written = file.write_all(content);
    written.map_err(|why| Failure::from(format!("{} can't be written: {why}", path.display())))?;
    file.finish()
}

/// A file's content and permission bits; `None` if the file doesn't exist.
pub(crate) fn read(path: &Path) -> io::Result<Option<(String, u32)>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(cause),
    };
    // Of the open file, not of one that replaced it.
    let mode = file.metadata()?.mode();
    let mut text = String::new();
    file.take(BYTES_MAX).read_to_string(&mut text)?;
    Ok(Some((text, mode & 0o777)))
}

/// Locks a file until it is dropped or the process ends; `None` while another process holds the lock.
pub(crate) fn try_lock(path: &Path) -> io::Result<Option<File>> {
    let file =
        OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        // Some file systems have no locks: then the last writer wins.
        Err(TryLockError::Error(_)) => Ok(Some(file)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(directory).unwrap().flatten();
        entries.map(|it| it.file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_is_replaced_atomically_and_private_to_its_owner() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("a/b");
        make_directory(&directory).unwrap();
        make_directory(&directory).unwrap();
        assert_eq!(std::fs::metadata(&directory).unwrap().mode() & 0o777, 0o700);

        let path = directory.join("x.json");
        assert_eq!(read(&path).unwrap(), None);
        for text in ["first", "second"] {
            write(&path, text.as_bytes()).unwrap();
            assert_eq!(read(&path).unwrap(), Some((text.to_owned(), 0o600)));
        }
        assert_eq!(names(&directory), ["x.json"], "nothing unfinished is left");

        std::fs::create_dir(directory.join("taken")).unwrap();
        assert!(write(&directory.join("taken"), b"x").is_err());
        assert_eq!(names(&directory).len(), 2, "also where it did not work");
    }
}
