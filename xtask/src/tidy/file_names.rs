//! Source files are named after what they hold.

#[cfg(test)]
mod tests;

use super::finding::Finding;
use super::tree::Tree;

/// Names that fit every file, and therefore tell nothing about one.
const EMPTY_NAMES: [&str; 9] =
    ["common", "data", "helper", "helpers", "manager", "misc", "service", "util", "utils"];

/// Finds source files whose names say nothing.
pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    let empty = tree.sources().filter(|it| EMPTY_NAMES.contains(&it.stem()));
    empty
        .map(|file| {
            let stem = file.stem();
            let text = format!("`{stem}` says nothing; name the file after what it holds");
            Finding::in_file(&file.path, 1, text)
        })
        .collect()
}
