//! An import: a file that names another file's contents.

/// An import of one file by another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Import {
    /// Path of the file that imports.
    pub(super) from: String,
    /// Line of the import, counted from 1.
    pub(super) line: usize,
    /// Path of the file that is imported.
    pub(super) to: String,
}

/// The line of a byte in a text, counted from 1.
pub(super) fn line_at(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset].iter().filter(|it| **it == b'\n').count() + 1
}
