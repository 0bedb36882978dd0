//! Tools that test and lint the console, from npm.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::cargo;
use crate::failure::Failure;
use crate::tools::installer::{copy_file, install_npm_packages, tool_directory};

/// The installed tools, with a copy of the tests next to them.
#[derive(Debug)]
pub(super) struct ConsoleTools {
    directory: PathBuf,
}

impl ConsoleTools {
    /// Finds the tools, or installs them, and copies the tests. Needs [`NPM`](crate::tools::requirement::NPM).
    pub(super) fn find_or_install() -> Result<Self, Failure> {
        let source = cargo::workspace_root().join("tests/console");
        let tools = Self { directory: tool_directory("console") };
        install_npm_packages(&source, &tools.directory)?;
        // Into an empty directory, so that no deleted test stays.
        let tests = tools.tests_directory();
        cargo::recreate_directory(&tests)?;
        for file in list_files(&source)? {
            if file.ends_with(".js") || file.starts_with("tsconfig") {
                copy_file(&file, &source, &tests)?;
            }
        }
        Ok(tools)
    }

    /// The path of a program that npm has installed.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.directory.join("node_modules/.bin").join(name)
    }

    /// The directory of the copied tests: Node.js looks for packages next to it.
    pub(super) fn tests_directory(&self) -> PathBuf {
        self.directory.join("tests")
    }

    /// Paths of the copied files that contain tests.
    pub(super) fn tests(&self) -> Result<Vec<PathBuf>, Failure> {
        let directory = self.tests_directory();
        let files = list_files(&directory)?.into_iter().filter(|file| file.ends_with(".test.js"));
        Ok(files.map(|file| directory.join(file)).collect())
    }
}

/// Names of the files in a directory, sorted.
fn list_files(directory: &Path) -> Result<Vec<String>, Failure> {
    let entries = fs::read_dir(directory).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = entries.map_err(|cause| Failure::at_path(directory, "can't be read", cause))?;
    let mut names: Vec<String> =
        entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}
