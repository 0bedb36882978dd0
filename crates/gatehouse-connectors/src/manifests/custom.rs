//! The operator's own manifests, in files.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Manifests;
use crate::manifest::{Manifest, ManifestFaults};

/// Most bytes of a manifest.
pub const MANIFEST_BYTES_MAX: u64 = 1024 * 1024;

const EXTENSIONS: [&str; 2] = ["yaml", "yml"];

/// A manifest that was added.
#[derive(Clone, Debug)]
pub struct CustomManifest {
    /// Its file.
    pub file: PathBuf,
    /// The manifest.
    pub manifest: Arc<Manifest>,
    /// Whether it replaces a shipped one.
    pub replaces_shipped: bool,
}

/// Why a file is not a manifest.
#[derive(Debug, thiserror::Error)]
pub enum BadManifest {
    /// The file can't be read.
    #[error("{}: can't be read: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        cause: io::Error,
    },
    /// The file is too large.
    #[error("{}: has more than {MANIFEST_BYTES_MAX} bytes, which no manifest needs", .0.display())]
    TooLarge(PathBuf),
    /// The file is not UTF-8.
    #[error("{}: is not UTF-8", .0.display())]
    NotText(PathBuf),
    /// The manifest has faults.
    #[error(transparent)]
    Faults(#[from] ManifestFaults),
    /// Another file in the directory has the same name.
    #[error("{}: is called `{name}`, and so is {}: give one of them another `name`", path.display(), other.display())]
    Twice {
        /// The file.
        path: PathBuf,
        /// The common name.
        name: String,
        /// The other file.
        other: PathBuf,
    },
}

/// Faults of a directory of manifests, one per line.
#[derive(Debug)]
pub struct BadManifests(Vec<BadManifest>);

impl BadManifests {
    /// The fault of each bad file.
    pub fn each(&self) -> &[BadManifest] {
        &self.0
    }
}

impl std::fmt::Display for BadManifests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lines: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for BadManifests {}

impl Manifests {
    /// Adds a manifest from a file, in place of a shipped one of the same name.
    pub fn add_file(&mut self, path: &Path) -> Result<CustomManifest, BadManifest> {
        let text = read(path)?;
        // Faults use the path as given, so that editors find the file.
        let manifest = self.add(&path.display().to_string(), &text)?;
        let replaces_shipped = Self::is_shipped(manifest.name().as_str());
        Ok(CustomManifest { file: path.to_owned(), manifest, replaces_shipped })
    }

    /// Adds all manifests of a directory by name: files that end in `.yaml` or `.yml`, except hidden ones. If any has a
    /// fault, none is added, and every fault is returned.
    pub fn add_dir(&mut self, dir: &Path) -> Result<Vec<CustomManifest>, BadManifests> {
        let unreadable =
            |cause| BadManifests(vec![BadManifest::Unreadable { path: dir.to_owned(), cause }]);
        let entries = std::fs::read_dir(dir).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let entries = entries.map_err(unreadable)?;
        let mut paths: Vec<PathBuf> = entries.into_iter().map(|it| it.path()).collect();
        paths.retain(|path| is_manifest(path));
        paths.sort();
        let mut all = self.clone();
        let (mut added_manifests, mut bad) = (Vec::<CustomManifest>::new(), Vec::new());
        for path in paths {
            match all.add_file(&path) {
                Ok(added) => {
                    let name = added.manifest.name();
                    match added_manifests.iter().find(|it| it.manifest.name() == name) {
                        Some(other) => bad.push(BadManifest::Twice {
                            path,
                            name: name.to_string(),
                            other: other.file.clone(),
                        }),
                        None => added_manifests.push(added),
                    }
                }
                Err(why) => bad.push(why),
            }
        }
        if !bad.is_empty() {
            return Err(BadManifests(bad));
        }
        *self = all;
        Ok(added_manifests)
    }
}

fn is_manifest(path: &Path) -> bool {
    let is_hidden = path.file_name().is_some_and(|it| it.as_encoded_bytes().starts_with(b"."));
    let extension = path.extension().and_then(|it| it.to_str());
    !is_hidden && extension.is_some_and(|it| EXTENSIONS.contains(&it))
}

fn read(path: &Path) -> Result<String, BadManifest> {
    let mut bytes = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(MANIFEST_BYTES_MAX + 1).read_to_end(&mut bytes));
    let n_bytes = read.map_err(|cause| BadManifest::Unreadable { path: path.to_owned(), cause })?;
    if n_bytes as u64 > MANIFEST_BYTES_MAX {
        return Err(BadManifest::TooLarge(path.to_owned()));
    }
    String::from_utf8(bytes).map_err(|_| BadManifest::NotText(path.to_owned()))
}

#[cfg(test)]
mod tests;
