//! The tracked files that the rules read: Rust, JavaScript and Markdown.

#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::failure::Failure;

/// The tracked files of a workspace, sorted by path.
#[derive(Debug)]
pub(super) struct Tree {
    files: Vec<TrackedFile>,
}

/// A tracked file and its text.
#[derive(Debug)]
pub(super) struct TrackedFile {
    /// Path from the workspace root.
    pub(super) path: String,
    pub(super) text: String,
}

impl Tree {
    /// Reads the files that git tracks below `root`, as they are on disk.
    pub(super) fn read(root: &Path) -> Result<Self, Failure> {
        let mut files = Vec::new();
        for path in list_files(root)? {
            match fs::read(root.join(&path)) {
                Ok(bytes) => {
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    files.push(TrackedFile { path, text });
                }
                // Git still lists a file that was removed without `git rm`.
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
                Err(cause) => {
                    return Err(Failure::Trouble(format!("{path} can't be read: {cause}")));
                }
            }
        }
        Ok(Self { files })
    }

    /// A tree for tests, made of paths and texts.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| TrackedFile {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        };
        Self { files: files.iter().map(file).collect() }
    }

    /// Source files: Rust and JavaScript.
    pub(super) fn sources(&self) -> impl Iterator<Item = &TrackedFile> {
        self.files.iter().filter(|it| it.is_rust() || it.is_javascript())
    }

    /// Source files without tests.
    pub(super) fn sources_without_tests(&self) -> impl Iterator<Item = &TrackedFile> {
        self.sources().filter(|it| !it.is_test())
    }

    /// Markdown files.
    pub(super) fn documents(&self) -> impl Iterator<Item = &TrackedFile> {
        self.files.iter().filter(|it| it.path.ends_with(".md"))
    }
}

impl TrackedFile {
    pub(super) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    pub(super) fn is_javascript(&self) -> bool {
        self.path.ends_with(".js")
    }

    /// Whether the file holds nothing but tests: `tests.rs`, `x.test.js`, or a file below a folder `tests`.
    pub(super) fn is_test(&self) -> bool {
        let parts = self.path.split('/').map(|part| part.strip_suffix(".rs").unwrap_or(part));
        self.path.ends_with(".test.js")
            || parts.into_iter().any(|it| matches!(it, "test" | "tests"))
    }

    /// The folder of the file; empty at the workspace root.
    pub(super) fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// The file's name without its extension.
    pub(super) fn stem(&self) -> &str {
        let name = self.path.rsplit_once('/').map_or(self.path.as_str(), |(_, name)| name);
        name.split_once('.').map_or(name, |(stem, _)| stem)
    }

    /// Lines of the file, each with its number.
    pub(super) fn numbered_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

/// The files that git tracks, and new ones that it doesn't ignore.
fn list_files(root: &Path) -> Result<Vec<String>, Failure> {
    let failed = |why: &str| {
        Failure::Trouble(format!("git lists no files: {}; run this in a clone", why.trim()))
    };
    let mut git = Command::new("git");
    let output = git
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .args(["--", "*.rs", "*.js", "*.md"])
        .current_dir(root)
        .stdin(Stdio::null())
        .output()
        .map_err(|cause| failed(&cause.to_string()))?;
    if !output.status.success() {
        return Err(failed(&String::from_utf8_lossy(&output.stderr)));
    }
    let listed = String::from_utf8_lossy(&output.stdout);
    Ok(listed.split_terminator('\0').map(str::to_owned).collect())
}
