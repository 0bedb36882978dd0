//! Node.js for the tests: the machine's, or one from npm if the machine's is too old.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::installer::{install_once, run_npm, tool_directory};
use super::program::{find_version, read_output, search_directories};
use super::version::Version;
use crate::cargo;
use crate::failure::Failure;

/// The oldest version with `URL.parse`, which packages of the test issuer call.
const LEAST_VERSION: Version = Version::new(22, 1);

/// A Node.js that is new enough.
#[derive(Debug)]
pub(crate) struct Node {
    /// Directory of the Node.js from npm; `None` if the one in PATH is used.
    directory: Option<PathBuf>,
}

impl Node {
    /// Finds the machine's Node.js, or gets a newer one from npm. Needs [`NPM`](super::requirement::NPM).
    pub(crate) fn find_or_install() -> Result<Self, Failure> {
        let found = find_version("node");
        if found.is_some_and(|it| it >= LEAST_VERSION) {
            return Ok(Self { directory: None });
        }
        let source = cargo::workspace_root().join("tests/node");
        let directory = tool_directory("node");
        install_once(&directory, &source.join("package-lock.json"), |directory| {
            let found = found.map_or("none".to_owned(), |it| it.to_string());
            eprintln!(
                "xtask: the machine's Node.js is {found}, and the tests need {LEAST_VERSION} or later; one \
                 from npm goes to {}",
                directory.display()
            );
            run_npm(&source, directory)?;
            // npm also succeeds if it could not fetch an optional package.
            let node = programs(directory).join("node");
            let installed = read_output(Command::new(node).arg("--version"));
            installed.map(drop).ok_or_else(|| {
                Failure::Trouble(format!(
                    "npm has no Node.js for this machine, or could not fetch it; try again, or install Node.js \
                     {LEAST_VERSION} or later by hand"
                ))
            })
        })?;
        Ok(Self { directory: Some(programs(&directory)) })
    }

    /// The Node.js in PATH, of any version.
    pub(crate) fn of_machine() -> Self {
        Self { directory: None }
    }

    /// The directory to put in front of PATH; `None` if PATH needs no change.
    pub(crate) fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// PATH for programs that run on this Node.js.
    pub(crate) fn path(&self) -> OsString {
        let directories = self.directory.iter().cloned().chain(search_directories());
        // Every directory came out of PATH or from below `target`; only a colon in a name can't be joined.
        env::join_paths(directories).unwrap_or_else(|_| env::var_os("PATH").unwrap_or_default())
    }
}

/// The directory of the program `node` below the directory that npm fills: npm 9 doesn't link the program.
fn programs(directory: &Path) -> PathBuf {
    let architecture = match env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    directory.join(format!("node_modules/node-linux-{architecture}/bin"))
}
