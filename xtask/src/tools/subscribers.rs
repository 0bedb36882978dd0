//! Receivers of events, and the libraries that receivers verify and read messages with.

use std::path::PathBuf;

use super::installer::{copy_file, install_npm_packages, install_python_packages, tool_directory};
use crate::cargo;
use crate::failure::Failure;

/// The directory of the receivers, with the libraries next to them: `node` has those for Node.js, and `python` is a
/// virtual environment. Needs [`NPM`](super::requirement::NPM) and [`PYTHON`](super::requirement::PYTHON).
pub(crate) fn find_or_install() -> Result<PathBuf, Failure> {
    let source = cargo::workspace_root().join("tests/subscribers");
    let directory = tool_directory("subscribers");
    let (node, python) = (directory.join("node"), directory.join("python"));
    install_npm_packages(&source, &node)?;
    install_python_packages(&source, &python)?;
    for program in ["receiver", "check"] {
        copy_file(&format!("{program}.js"), &source, &node)?;
        copy_file(&format!("{program}.py"), &source, &python)?;
    }
    Ok(directory)
}
