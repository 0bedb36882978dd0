//! Folders have few source files, so that a newcomer reads their names at a glance.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::finding::Finding;
use super::tree::Tree;

/// The most source files directly in a folder. Folders of tests, and the bench, may have more.
const MAX_FILES: usize = 25;

/// Finds folders with too many source files.
pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    for file in tree.sources() {
        let folder = file.folder();
        if !folder.split('/').any(|it| it == "tests") && !file.path.starts_with("bench/") {
            *sizes.entry(folder).or_default() += 1;
        }
    }
    let too_large = sizes.into_iter().filter(|(_, n_files)| *n_files > MAX_FILES);
    too_large
        .map(|(folder, n_files)| {
            let text = format!(
                "{n_files} source files in one folder; group them in folders of at most {MAX_FILES}"
            );
            Finding::in_folder(folder, text)
        })
        .collect()
}
