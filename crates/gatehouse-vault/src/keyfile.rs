//! Key files in the data directory: readable by their owner alone, written atomically.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Why a key file can't be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// The file system failed.
    #[error("key file {}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        cause: io::Error,
    },
    /// The file has other content.
    #[error("key file {}: {reason}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Text that says what would be right.
        reason: String,
    },
}

/// Reads a key, if the file exists.
pub(crate) fn load<K>(
    path: &Path,
    parse: impl FnOnce(&str) -> Result<K, String>,
) -> Result<Option<K>, KeyFileError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => zeroize::Zeroizing::new(text),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(KeyFileError::Io { path: path.into(), cause }),
    };
    let key = parse(&text);
    key.map(Some).map_err(|reason| KeyFileError::Content { path: path.into(), reason })
}

/// Writes a key to a new file.
pub(crate) fn save(path: &Path, text: &str) -> Result<(), KeyFileError> {
    save_atomically(path, text).map_err(|cause| KeyFileError::Io { path: path.into(), cause })
}

/// Replaces a key file.
pub(crate) fn replace(path: &Path, text: &str) -> Result<(), KeyFileError> {
    replace_atomically(path, text).map_err(|cause| KeyFileError::Io { path: path.into(), cause })
}

fn save_atomically(path: &Path, text: &str) -> io::Result<()> {
    let temporary = write_temporary(path, text)?;
    // A link, unlike a rename, refuses to replace an existing key.
    fs::hard_link(&temporary, path)?;
    fs::remove_file(&temporary)?;
    flush_directory(path)
}

fn replace_atomically(path: &Path, text: &str) -> io::Result<()> {
    let temporary = write_temporary(path, text)?;
    fs::rename(&temporary, path)?;
    flush_directory(path)
}

/// Writes a temporary file next to `path`: a crash must not leave an empty key.
fn write_temporary(path: &Path, text: &str) -> io::Result<PathBuf> {
    let temporary = path.with_extension("unfinished");
    let _ = fs::remove_file(&temporary);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    Ok(temporary)
}

/// Flushes the directory, so that the file's name is durable.
fn flush_directory(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}
