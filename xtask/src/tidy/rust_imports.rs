//! Imports between the files of a crate: `use` trees, and paths in the code.
//!
//! A path leads to the file of the longest module that it names: `crate::a::b::f` to `a/b.rs`, or to `a.rs` if `b` is no
//! file. A module's paths to its own ancestors are no imports: a module and its children are one nest, and Rust lets
//! children see what their parents hold.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use super::blanked_source::{Language, blank, is_word};
use super::import::{Import, line_at};
use super::tree::{TrackedFile, Tree};

/// Begins the tests at the end of a file.
const INLINE_TESTS: &str = "#[cfg(test)]\nmod tests {";

/// Finds the imports of all crates, without those of tests.
pub(super) fn find(tree: &Tree) -> Vec<Import> {
    let mut crates: BTreeMap<&str, Modules<'_>> = BTreeMap::new();
    for file in tree.sources_without_tests().filter(|it| it.is_rust()) {
        if let Some((root, module)) = file.path.split_once("/src/") {
            let module = module.trim_end_matches(".rs").split('/').collect();
            crates.entry(root).or_default().insert(module, file);
        }
    }
    crates.values().flat_map(find_in_crate).collect()
}

/// Modules of a crate, by their path in it. The crate's root is under `lib` or `main`, so that no path leads to it.
type Modules<'tree> = BTreeMap<Vec<&'tree str>, &'tree TrackedFile>;

fn find_in_crate(modules: &Modules<'_>) -> Vec<Import> {
    modules.iter().flat_map(|(module, file)| find_in_file(modules, module, file)).collect()
}

fn find_in_file(modules: &Modules<'_>, module: &[&str], file: &TrackedFile) -> Vec<Import> {
    let is_root = matches!(module, ["lib" | "main"]);
    let module = if is_root { &[] } else { module };
    let blanked = blank(&file.text, Language::Rust);
    let code = blanked.split_once(INLINE_TESTS).map_or(blanked.as_str(), |(code, _)| code);
    let mut imported = BTreeSet::new();
    let mut imports = Vec::new();
    for path in PathReader::read(code) {
        let Some(target) = resolve(modules, module, &path.segments) else { continue };
        if imported.insert(target.path.as_str()) {
            let line = line_at(code, path.offset);
            imports.push(Import { from: file.path.clone(), line, to: target.path.clone() });
        }
    }
    imports
}

/// The file that a path in `module` leads to, unless that is an ancestor of the module.
fn resolve<'tree>(
    modules: &Modules<'tree>,
    module: &[&str],
    path: &[&str],
) -> Option<&'tree TrackedFile> {
    let mut path = path;
    let mut full = module.to_vec();
    match path {
        ["crate", rest @ ..] => {
            full.clear();
            path = rest;
        }
        ["self" | "super", ..] => {
            while let [first @ ("self" | "super"), rest @ ..] = path {
                if *first == "super" {
                    full.pop();
                }
                path = rest;
            }
        }
        [child, ..] => {
            let child = [module, &[*child]].concat();
            modules.get(&child)?;
        }
        [] => return None,
    }
    full.extend(path);
    let target = (1..=full.len()).rev().map(|n| &full[..n]).find(|it| modules.contains_key(*it))?;
    if module.starts_with(target) { None } else { modules.get(target).copied() }
}

/// A path in the code, such as `crate::a::f`.
#[derive(Debug, PartialEq, Eq)]
struct CodePath<'code> {
    segments: Vec<&'code str>,
    /// Byte of the code where the path's last part begins.
    offset: usize,
}

/// Reads the paths of a file.
#[derive(Debug)]
struct PathReader<'code> {
    code: &'code str,
    at: usize,
    paths: Vec<CodePath<'code>>,
}

impl<'code> PathReader<'code> {
    fn read(code: &'code str) -> Vec<CodePath<'code>> {
        let mut reader = Self { code, at: 0, paths: Vec::new() };
        while reader.at < code.len() {
            reader.read_next();
        }
        reader.paths
    }

    fn read_next(&mut self) {
        let offset = self.at;
        // What follows a type's `>::` belongs to the type.
        let is_continued = self.code[..offset].ends_with("::");
        let Some(first) = self.word() else {
            let rest = self.rest();
            self.at += rest.bytes().position(is_word).unwrap_or(rest.len());
            return;
        };
        if first == "use" && self.rest().starts_with(char::is_whitespace) {
            return self.read_use_tree(&[]);
        }
        let mut segments = vec![first];
        while self.rest().starts_with("::") {
            self.at += 2;
            match self.word() {
                Some(word) => segments.push(word),
                None => break,
            }
        }
        if segments.len() > 1 && !is_continued {
            self.paths.push(CodePath { segments, offset });
        }
    }

    /// Reads a tree such as `crate::a::{self, b::c as d}`, and each path in it.
    fn read_use_tree(&mut self, prefix: &[&'code str]) {
        let mut segments = prefix.to_vec();
        self.skip_space();
        let offset = self.at;
        loop {
            if self.skip("{") {
                while !self.skip("}") && self.at < self.code.len() {
                    self.read_use_tree(&segments);
                    self.skip(",");
                }
                return;
            }
            match self.word() {
                Some(word) => segments.push(word),
                None if self.skip("*") => {}
                // Nothing that a tree can have: go on behind it.
                None if !self.skip("::") => return self.at += usize::from(!self.is_end_of_tree()),
                None => continue,
            }
            if !self.skip("::") {
                break;
            }
        }
        if self.rest().starts_with("as ") {
            self.at += 2;
            self.skip_space();
            self.word();
        }
        self.skip_space();
        self.paths.push(CodePath { segments, offset });
    }

    fn is_end_of_tree(&self) -> bool {
        self.rest().is_empty() || self.rest().starts_with(['}', ',', ';'])
    }

    fn rest(&self) -> &'code str {
        &self.code[self.at..]
    }

    fn word(&mut self) -> Option<&'code str> {
        let rest = self.rest();
        let end = rest.bytes().position(|it| !is_word(it)).unwrap_or(rest.len());
        self.at += end;
        (end > 0).then(|| &rest[..end])
    }

    /// Goes behind `text` and the space around it, if it is next.
    fn skip(&mut self, text: &str) -> bool {
        self.skip_space();
        let is_next = self.rest().starts_with(text);
        if is_next {
            self.at += text.len();
            self.skip_space();
        }
        is_next
    }

    fn skip_space(&mut self) {
        self.at = self.code.len() - self.rest().trim_start().len();
    }
}
