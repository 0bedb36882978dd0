//! Rust files begin with a header that says what they hold.

#[cfg(test)]
mod tests;

use super::finding::Finding;
use super::tree::Tree;

/// Finds Rust files without a header. Files of tests need none.
pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    let modules = tree.sources_without_tests().filter(|it| it.is_rust());
    modules
        .filter(|file| !file.text.starts_with("//! "))
        .map(|file| {
            let text = "the file has no header; begin it with a line `//! What the file holds.`";
            Finding::in_file(&file.path, 1, text)
        })
        .collect()
}
