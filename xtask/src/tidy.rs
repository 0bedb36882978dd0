//! Rules about the files of the workspace that no compiler and no other lint checks.
//!
//! A rule reads the tracked files as text and reports findings; a finding says where it is, what is wrong, and what
//! would be right. Each rule has a file below `tidy/`. All of them together take less than a second.

mod blanked_source;
mod doc_lines;
mod document_size;
mod file_length;
mod file_names;
mod finding;
mod folder_size;
mod import;
mod import_circles;
mod js_imports;
mod markdown_lines;
mod module_headers;
mod rust_imports;
mod tree;

use crate::cargo;
use crate::failure::Failure;
use crate::tools::requirement::{self, GIT};
use finding::Finding;
use tree::Tree;

/// A rule for the files of the workspace.
#[derive(Debug)]
pub(crate) struct Rule {
    /// The rule's name, for people.
    name: &'static str,
    /// Finds every place that breaks the rule.
    find: fn(&Tree) -> Vec<Finding>,
}

const FOLDER_SIZE: Rule = Rule { name: "folder size", find: folder_size::find };
const FILE_NAMES: Rule = Rule { name: "file names", find: file_names::find };
const FILE_LENGTH: Rule = Rule { name: "file length", find: file_length::find };
const MODULE_HEADERS: Rule = Rule { name: "module headers", find: module_headers::find };
const DOC_LINES: Rule = Rule { name: "doc lines", find: doc_lines::find };
const IMPORT_CIRCLES: Rule = Rule { name: "import circles", find: import_circles::find };
const MARKDOWN_LINES: Rule = Rule { name: "Markdown lines", find: markdown_lines::find };
const DOCUMENT_SIZE: Rule = Rule { name: "document size", find: document_size::find };

/// Every rule. `cargo xtask tidy` checks them alone, and `cargo xtask lint` among others.
pub(crate) const RULES: [Rule; 8] = [
    FOLDER_SIZE,
    FILE_NAMES,
    FILE_LENGTH,
    MODULE_HEADERS,
    DOC_LINES,
    IMPORT_CIRCLES,
    MARKDOWN_LINES,
    DOCUMENT_SIZE,
];

/// Checks the tracked files by `rules`; prints every finding, and fails if there is one.
pub(crate) fn check(rules: &[Rule]) -> Result<(), Failure> {
    requirement::ensure(&[&GIT])?;
    let tree = Tree::read(&cargo::workspace_root())?;
    let mut counts = Vec::new();
    for rule in rules {
        let findings = (rule.find)(&tree);
        for finding in &findings {
            println!("{finding}");
        }
        if !findings.is_empty() {
            counts.push(format!("{} ({})", rule.name, findings.len()));
        }
    }
    if counts.is_empty() {
        return Ok(());
    }
    let (n_broken, n_rules) = (counts.len(), rules.len());
    Err(Failure::Trouble(format!(
        "{n_broken} of {n_rules} tidy rules are broken: {}; the findings above say what would be right",
        counts.join(", ")
    )))
}
