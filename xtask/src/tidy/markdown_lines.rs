//! Lines of Markdown are short, so that editors and changes show them whole.

#[cfg(test)]
mod tests;

use super::finding::Finding;
use super::tree::{TrackedFile, Tree};

/// A line of Markdown has fewer characters than this.
const LIMIT: usize = 160;

/// A line of ARCHITECTURE.md has fewer characters than this, in its map, a code block, too.
const LIMIT_OF_ARCHITECTURE: usize = 120;

/// Finds lines that are too long. Rows of tables, code blocks and lone links can't be broken, and may be longer.
pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    tree.documents().flat_map(find_in_document).collect()
}

fn find_in_document(document: &TrackedFile) -> Vec<Finding> {
    let is_architecture = document.path == "ARCHITECTURE.md";
    let limit = if is_architecture { LIMIT_OF_ARCHITECTURE } else { LIMIT };
    let mut fence = None;
    let mut findings = Vec::new();
    for (number, line) in document.numbered_lines() {
        let text = line.trim_start();
        let marker = ["```", "~~~"].into_iter().find(|it| text.starts_with(it));
        if marker.is_some() && (fence.is_none() || fence == marker) {
            fence = if fence.is_none() { marker } else { None };
        }
        let is_code = fence.is_some() && !is_architecture;
        let n_characters = line.chars().count();
        if n_characters >= limit && !is_code && !is_unbreakable(text) {
            let text = format!(
                "a line of {n_characters} characters; break it so that it has fewer than {limit}"
            );
            findings.push(Finding::in_file(&document.path, number, text));
        }
    }
    findings
}

/// Whether a line is a row of a table, or one link and nothing else.
fn is_unbreakable(text: &str) -> bool {
    let text = text.trim_start_matches(['-', '*', '>', ' ']).trim_end();
    let is_row = text.starts_with('|');
    let is_word = !text.contains(char::is_whitespace);
    let is_link = text.starts_with('[')
        && text.ends_with(')')
        && text.matches("](").count() == 1
        && !text.contains(") ");
    let is_definition = text.starts_with('[') && text.contains("]: ");
    is_row || is_word || is_link || is_definition
}
