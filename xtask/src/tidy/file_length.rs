//! Source files are short enough to read in one sitting.

#[cfg(test)]
mod tests;

use super::finding::Finding;
use super::tree::Tree;

/// The most lines of a source file. Tests may have more.
const MAX_LINES: usize = 700;

/// Finds source files with too many lines.
pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    let lengths = tree.sources_without_tests().map(|file| (file, file.text.lines().count()));
    lengths
        .filter(|(_, n_lines)| *n_lines > MAX_LINES)
        .map(|(file, n_lines)| {
            let text = format!(
                "{n_lines} lines; divide the file by its nouns into files of at most {MAX_LINES} lines"
            );
            Finding::in_file(&file.path, 1, text)
        })
        .collect()
}
