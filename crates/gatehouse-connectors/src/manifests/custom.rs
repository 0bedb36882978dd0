//! Manifests that the operator wrote: files, and a directory of them.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Manifests;
use crate::manifest::{Manifest, ManifestFaults};

/// Most bytes of a manifest.
pub const MANIFEST_BYTES_MAX: u64 = 1024 * 1024;

/// What the names of manifests end in, in a directory of them.
const EXTENSIONS: [&str; 2] = ["yaml", "yml"];

/// A manifest that was taken in.
#[derive(Clone, Debug)]
pub struct CustomManifest {
    /// The file that it is in.
    pub file: PathBuf,
    /// What it says.
    pub manifest: Arc<Manifest>,
    /// Whether it stands in the place of one that is shipped.
    pub replaces_shipped: bool,
}

/// Why a file is no manifest.
#[derive(Debug, thiserror::Error)]
pub enum BadManifest {
    /// It can't be read.
    #[error("{}: can't be read: {cause}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// It is too large to be one.
    #[error("{}: has more than {MANIFEST_BYTES_MAX} bytes, which no manifest needs", .0.display())]
    TooLarge(PathBuf),
    /// It is no text.
    #[error("{}: is not UTF-8", .0.display())]
    NotText(PathBuf),
    /// It says something that can't be.
    #[error(transparent)]
    Faults(#[from] ManifestFaults),
    /// Another file in the directory has its name.
    #[error("{}: is called `{name}`, and so is {}: give one of them another `name`", path.display(), other.display())]
    Twice {
        /// Which.
        path: PathBuf,
        /// What both are called.
        name: String,
        /// The other one.
        other: PathBuf,
    },
}

/// All that is wrong with a directory of manifests, a line for each fault.
#[derive(Debug)]
pub struct BadManifests(Vec<BadManifest>);

impl BadManifests {
    /// Each file that is none.
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
    /// Takes a file in, in place of a shipped one of the same name.
    pub fn add_file(&mut self, path: &Path) -> Result<CustomManifest, BadManifest> {
        let text = read(path)?;
        // Faults are told of the name that the file was given by, so that editors find it.
        let manifest = self.add(&path.display().to_string(), &text)?;
        let replaces_shipped = Self::is_shipped(manifest.name().as_str());
        Ok(CustomManifest { file: path.to_owned(), manifest, replaces_shipped })
    }

    /// Takes in what a directory has of manifests, in the order of their names: all that ends in `.yaml` or
    /// `.yml`, but for what begins with a dot. With one that has a fault, all of them are refused, and every
    /// fault is told.
    pub fn add_dir(&mut self, dir: &Path) -> Result<Vec<CustomManifest>, BadManifests> {
        let unreadable =
            |cause| BadManifests(vec![BadManifest::Unreadable { path: dir.to_owned(), cause }]);
        let entries = std::fs::read_dir(dir).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let entries = entries.map_err(unreadable)?;
        let mut paths: Vec<PathBuf> = entries.into_iter().map(|it| it.path()).collect();
        paths.retain(|path| is_manifest(path));
        paths.sort();
        let mut taken = self.clone();
        let (mut own, mut bad) = (Vec::<CustomManifest>::new(), Vec::new());
        for path in paths {
            match taken.add_file(&path) {
                Ok(added) => {
                    let name = added.manifest.name();
                    match own.iter().find(|it| it.manifest.name() == name) {
                        Some(other) => bad.push(BadManifest::Twice {
                            path,
                            name: name.to_string(),
                            other: other.file.clone(),
                        }),
                        None => own.push(added),
                    }
                }
                Err(why) => bad.push(why),
            }
        }
        if !bad.is_empty() {
            return Err(BadManifests(bad));
        }
        *self = taken;
        Ok(own)
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
