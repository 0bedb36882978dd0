//! Looking for many texts at once in the raw bytes of files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Texts that are looked for.
pub(crate) struct Search<'a> {
    /// By their first bytes: few places of a file begin like one of them.
    by_start: HashMap<[u8; 3], Vec<&'a [u8]>>,
    is_start: Vec<bool>,
}

impl<'a> Search<'a> {
    /// For texts of three bytes or more.
    pub(crate) fn new(texts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut by_start: HashMap<_, Vec<_>> = HashMap::new();
        let mut is_start = vec![false; 1 << 24];
        for text in texts {
            let start = *text.first_chunk().expect("it has three bytes or more");
            is_start[place(start)] = true;
            by_start.entry(start).or_default().push(text);
        }
        Self { by_start, is_start }
    }

    /// The first of the texts that is there.
    pub(crate) fn find(&self, bytes: &[u8]) -> Option<&'a [u8]> {
        let mut last = 0;
        for (at, byte) in bytes.iter().enumerate() {
            last = (last << 8 | usize::from(*byte)) & 0xff_ffff;
            if self.is_start[last] && at >= 2 {
                let rest = &bytes[at - 2..];
                let texts = &self.by_start[rest.first_chunk::<3>()?];
                if let Some(text) = texts.iter().find(|text| rest.starts_with(text)) {
                    return Some(text);
                }
            }
        }
        None
    }

    /// The first of the texts that is in one of these files, and in which.
    pub(crate) fn find_in(&self, files: &[PathBuf]) -> Option<(&'a [u8], PathBuf)> {
        files.iter().find_map(|file| {
            // A file that is gone meanwhile holds nothing.
            let bytes = std::fs::read(file).unwrap_or_default();
            self.find(&bytes).map(|text| (text, file.clone()))
        })
    }
}

fn place(start: [u8; 3]) -> usize {
    usize::from(start[0]) << 16 | usize::from(start[1]) << 8 | usize::from(start[2])
}

/// The files in this directory and below that were written since this one was.
pub(crate) fn files_since(dir: &Path, since: &Path) -> Vec<PathBuf> {
    let earliest = std::fs::metadata(since).unwrap().modified().unwrap();
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() {
            files.extend(files_since(&entry.path(), since));
        } else if metadata.modified().unwrap() >= earliest {
            files.push(entry.path());
        }
    }
    files
}
