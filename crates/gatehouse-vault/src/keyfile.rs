//! Key files in the data directory: readable by their owner alone, written whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Why a key file is of no use.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// The file system said no.
    #[error("key file {}: {cause}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What it said.
        cause: io::Error,
    },
    /// The file holds something else.
    #[error("key file {}: {reason}", path.display())]
    Content {
        /// Which file.
        path: PathBuf,
        /// What would be right.
        reason: String,
    },
}

/// Reads a key, if the file is there.
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

/// Writes a key to a file that must not be there yet.
pub(crate) fn save(path: &Path, text: &str) -> Result<(), KeyFileError> {
    save_whole(path, text).map_err(|cause| KeyFileError::Io { path: path.into(), cause })
}

/// Writes a key to a file in place of what it holds.
pub(crate) fn replace(path: &Path, text: &str) -> Result<(), KeyFileError> {
    replace_whole(path, text).map_err(|cause| KeyFileError::Io { path: path.into(), cause })
}

fn save_whole(path: &Path, text: &str) -> io::Result<()> {
    let unfinished = write_beside(path, text)?;
    // A link, unlike a rename, refuses to replace a key that is there already.
    fs::hard_link(&unfinished, path)?;
    fs::remove_file(&unfinished)?;
    make_last(path)
}

fn replace_whole(path: &Path, text: &str) -> io::Result<()> {
    let unfinished = write_beside(path, text)?;
    fs::rename(&unfinished, path)?;
    make_last(path)
}

/// A crash between making and filling a file must not leave an empty key behind.
fn write_beside(path: &Path, text: &str) -> io::Result<PathBuf> {
    let unfinished = path.with_extension("unfinished");
    let _ = fs::remove_file(&unfinished);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    Ok(unfinished)
}

/// A file's name is durable when its directory is.
fn make_last(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}
