//! The documents that a newcomer reads first stay short.

#[cfg(test)]
mod tests;

use super::finding::Finding;
use super::tree::Tree;

/// The most bytes of ARCHITECTURE.md.
const MAX_BYTES_OF_ARCHITECTURE: usize = 9 * 1024;

/// The most lines of README.md.
const MAX_LINES_OF_README: usize = 150;

/// Finds documents that are too long.
pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for document in tree.documents() {
        let (size, max, unit) = match document.path.as_str() {
            "ARCHITECTURE.md" => (document.text.len(), MAX_BYTES_OF_ARCHITECTURE, "bytes"),
            "README.md" => (document.text.lines().count(), MAX_LINES_OF_README, "lines"),
            _ => continue,
        };
        if size > max {
            let text = format!(
                "{size} {unit}; move details into docs/, so that at most {max} {unit} are left"
            );
            findings.push(Finding::in_file(&document.path, 1, text));
        }
    }
    findings
}
