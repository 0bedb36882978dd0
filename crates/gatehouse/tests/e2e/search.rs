//! Searching many texts at once in the raw bytes of files.

use std::path::{Path, PathBuf};

use aho_corasick::AhoCorasick;

pub(crate) struct Search<'a> {
    texts: Vec<&'a [u8]>,
    automaton: AhoCorasick,
}

impl<'a> Search<'a> {
    pub(crate) fn new(texts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let texts: Vec<&[u8]> = texts.into_iter().collect();
        assert!(texts.iter().all(|text| !text.is_empty()), "an empty text is everywhere");
        let automaton = AhoCorasick::new(&texts).unwrap();
        Self { texts, automaton }
    }

    /// The first text that occurs.
    pub(crate) fn find(&self, bytes: &[u8]) -> Option<&'a [u8]> {
        self.automaton.find(bytes).map(|found| self.texts[found.pattern().as_usize()])
    }

    /// The first text that occurs in one of these files, and the file.
    pub(crate) fn find_in(&self, files: &[PathBuf]) -> Option<(&'a [u8], PathBuf)> {
        files.iter().find_map(|file| {
            // A file that has been removed meanwhile holds nothing.
            let bytes = std::fs::read(file).unwrap_or_default();
            self.find(&bytes).map(|text| (text, file.clone()))
        })
    }
}

/// The files in this directory and below that were written after `since`.
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
