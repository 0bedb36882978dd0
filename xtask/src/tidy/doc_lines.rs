//! The first line of a doc comment stands alone, because editors show it alone.

#[cfg(test)]
mod tests;

use super::finding::Finding;
use super::tree::{TrackedFile, Tree};

/// Beginnings that name no subject.
const BEGINNINGS: [&str; 3] = ["The same", "It", "What"];

/// Finds doc comments whose first line begins without a subject.
pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.sources() {
        let first_lines = if file.is_rust() {
            first_lines_of_rust(file)
        } else {
            first_lines_of_javascript(file)
        };
        findings.extend(first_lines.into_iter().filter_map(|(line, text)| {
            let beginning = beginning(text)?;
            let text = format!(
                "the doc comment begins with \"{beginning}\"; name its subject, so that the line stands alone"
            );
            Some(Finding::in_file(&file.path, line, text))
        }));
    }
    findings
}

fn beginning(text: &str) -> Option<&'static str> {
    BEGINNINGS.into_iter().find(|it| {
        text.strip_prefix(it).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    })
}

/// First line of each `///` or `//!` comment, without the marker.
fn first_lines_of_rust(file: &TrackedFile) -> Vec<(usize, &str)> {
    let mut previous_is_doc = false;
    let mut first_lines = Vec::new();
    for (number, line) in file.numbered_lines() {
        let line = line.trim_start();
        let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        if let (Some(text), false) = (text, previous_is_doc) {
            first_lines.push((number, text.trim()));
        }
        previous_is_doc = text.is_some();
    }
    first_lines
}

/// First line of each `/**` comment, without the marker.
fn first_lines_of_javascript(file: &TrackedFile) -> Vec<(usize, &str)> {
    let mut lines = file.numbered_lines();
    let mut first_lines = Vec::new();
    while let Some((number, line)) = lines.next() {
        let Some(text) = line.trim_start().strip_prefix("/**") else { continue };
        if !text.trim().is_empty() {
            first_lines.push((number, text.trim()));
        } else if let Some((number, line)) = lines.next() {
            first_lines.push((number, line.trim_start_matches([' ', '*'])));
        }
    }
    first_lines
}
