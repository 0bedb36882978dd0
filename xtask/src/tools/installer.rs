//! Installing packages of npm and PyPI: exact versions, each tool in its own directory below `target`.
//!
//! A tool is installed once, and again when the file that names its versions changes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::program;
use crate::cargo;
use crate::failure::Failure;

/// The directory of a tool.
pub(crate) fn tool_directory(tool: &str) -> PathBuf {
    cargo::target_directory().join("tools").join(tool)
}

/// Installs the packages that `source/package-lock.json` names into `directory`, unless they are there.
pub(crate) fn install_npm_packages(source: &Path, directory: &Path) -> Result<(), Failure> {
    install_once(directory, &source.join("package-lock.json"), |directory| {
        run_npm(source, directory)
    })
}

/// Makes a virtual environment in `directory` with the packages that `source/requirements.txt` names, unless they are
/// there.
pub(crate) fn install_python_packages(source: &Path, directory: &Path) -> Result<(), Failure> {
    let versions = source.join("requirements.txt");
    install_once(directory, &versions, |directory| run_pip(&versions, directory))
}

/// Calls `install` with an empty directory, unless the directory was filled for the same `versions`.
///
/// The file `versions` is copied last, so that an interrupted installation begins again.
pub(crate) fn install_once(
    directory: &Path,
    versions: &Path,
    install: impl FnOnce(&Path) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let wanted =
        fs::read(versions).map_err(|cause| Failure::at_path(versions, "can't be read", cause))?;
    let stamp = directory.join("installed");
    if fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    cargo::recreate_directory(directory)?;
    install(directory)?;
    fs::write(&stamp, wanted).map_err(|cause| Failure::at_path(&stamp, "can't be written", cause))
}

/// Runs `npm ci` in `directory`, with the lock of `source`.
pub(crate) fn run_npm(source: &Path, directory: &Path) -> Result<(), Failure> {
    for file in ["package.json", "package-lock.json", ".npmrc"] {
        copy_file(file, source, directory)?;
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-progress"]).current_dir(directory).stdout(io::stderr());
    program::run(&mut npm, "npm ci")
}

/// Makes a virtual environment in `directory`, and installs the packages of the file `versions` in it.
fn run_pip(versions: &Path, directory: &Path) -> Result<(), Failure> {
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(directory).stdout(io::stderr());
    program::run(&mut venv, "python3 -m venv")?;
    let mut pip = Command::new(directory.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--requirement"]);
    program::run(pip.arg(versions).stdout(io::stderr()), "pip install")
}

/// Copies a file of `source` into `directory`.
pub(crate) fn copy_file(file: &str, source: &Path, directory: &Path) -> Result<(), Failure> {
    let copied = fs::copy(source.join(file), directory.join(file));
    copied.map(drop).map_err(|cause| Failure::Trouble(format!("{file} can't be copied: {cause}")))
}
