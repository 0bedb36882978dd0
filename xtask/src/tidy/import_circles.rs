//! Files don't import each other in circles: a file can be read when those that it imports have been.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use super::finding::Finding;
use super::import::Import;
use super::tree::Tree;
use super::{js_imports, rust_imports};

/// The most files that may import each other: a pair can be read together.
const MAX_FILES: usize = 2;

/// Finds circles of imports in each crate, and in the console.
pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    let imports = [rust_imports::find(tree), js_imports::find(tree)].concat();
    let circles = find_circles(&imports).into_iter().filter(|files| files.len() > MAX_FILES);
    circles.map(|files| report(&files, &imports)).collect()
}

/// Sets of files that each lead to every other file of the set, through any number of imports.
fn find_circles(imports: &[Import]) -> Vec<BTreeSet<&str>> {
    let mut targets: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for Import { from, to, .. } in imports {
        targets.entry(from).or_default().push(to);
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        targets.keys().map(|file| (*file, reach(&targets, file))).collect();
    let leads_to = |from: &str, to: &str| reached.get(from).is_some_and(|it| it.contains(to));
    let mut circles = BTreeSet::new();
    for (file, reached) in &reached {
        let circle: BTreeSet<&str> =
            reached.iter().copied().filter(|other| leads_to(other, file)).collect();
        // A file that is in no circle doesn't lead to itself.
        if !circle.is_empty() {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

/// Files that `file` imports, directly and through others.
fn reach<'tree>(targets: &BTreeMap<&str, Vec<&'tree str>>, file: &str) -> BTreeSet<&'tree str> {
    let mut reached = BTreeSet::new();
    let mut waiting = vec![file];
    while let Some(next) = waiting.pop() {
        for target in targets.get(next).into_iter().flatten() {
            if reached.insert(*target) {
                waiting.push(target);
            }
        }
    }
    reached
}

fn report(files: &BTreeSet<&str>, imports: &[Import]) -> Finding {
    let is_inside =
        |it: &&Import| files.contains(it.from.as_str()) && files.contains(it.to.as_str());
    let mut inside: Vec<&Import> = imports.iter().filter(is_inside).collect();
    inside.sort();
    let (path, line) = inside.first().map_or(("", 1), |first| (first.from.as_str(), first.line));
    let text = format!(
        "{} files import each other in a circle; cut one of these imports, or move what both sides need into a file \
         of its own:",
        files.len()
    );
    let places = inside.iter().map(|it| format!("{}:{} imports {}", it.from, it.line, it.to));
    Finding::in_file(path, line, text).with_places(places.collect())
}
