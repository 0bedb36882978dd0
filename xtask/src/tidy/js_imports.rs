//! Imports between JavaScript modules: `import … from`, `export … from` and `import(…)` with a relative path.
//!
//! Types in comments are no imports: a browser never loads them.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::blanked_source::{Language, blank, is_word};
use super::import::{Import, line_at};
use super::tree::{TrackedFile, Tree};

/// Finds the imports of all modules, without those of tests.
pub(super) fn find(tree: &Tree) -> Vec<Import> {
    let modules: BTreeMap<&str, &TrackedFile> = tree
        .sources_without_tests()
        .filter(|it| it.is_javascript())
        .map(|file| (file.path.as_str(), file))
        .collect();
    let mut imports = Vec::new();
    for file in modules.values() {
        for (line, specifier) in find_specifiers(&file.text) {
            let target = resolve(file.folder(), specifier);
            if target.as_deref().is_some_and(|it| modules.contains_key(it) && it != file.path) {
                let to = target.unwrap_or_default();
                imports.push(Import { from: file.path.clone(), line, to });
            }
        }
    }
    imports
}

/// Paths that a module imports, as it writes them, each with its line.
fn find_specifiers(text: &str) -> Vec<(usize, &str)> {
    let code = blank(text, Language::JavaScript);
    let mut specifiers = Vec::new();
    for keyword in ["from", "import"] {
        for (start, _) in code.match_indices(keyword) {
            let is_word_before = start > 0 && is_word(code.as_bytes()[start - 1]);
            let after = code[start + keyword.len()..].trim_start();
            let after = match keyword {
                "import" => after.strip_prefix('(').unwrap_or(after).trim_start(),
                _ => after,
            };
            let Some(quote) = after.chars().next().filter(|it| matches!(it, '"' | '\'')) else {
                continue;
            };
            let begin = code.len() - after.len() + 1;
            // The contents are blank, so the next quote closes.
            let length = code[begin..].find(quote).unwrap_or_default();
            if !is_word_before {
                specifiers.push((line_at(text, start), &text[begin..begin + length]));
            }
        }
    }
    specifiers
}

/// The path from the workspace root that a relative path leads to.
fn resolve(folder: &str, specifier: &str) -> Option<String> {
    if !specifier.starts_with('.') {
        return None;
    }
    let mut parts: Vec<&str> = folder.split('/').collect();
    for part in specifier.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}
