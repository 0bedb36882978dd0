//! Tools that test the API by its OpenAPI document, from npm and PyPI.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo;
use crate::failure::Failure;
use crate::tools::installer::{install_npm_packages, install_once, tool_directory};
use crate::tools::program;

/// The installed tools.
#[derive(Debug)]
pub(crate) struct ApiTools {
    /// Lints an OpenAPI document.
    pub(super) spectral: PathBuf,
    /// Sends requests that an OpenAPI document describes, and checks the responses by it.
    pub(super) schemathesis: PathBuf,
}

impl ApiTools {
    /// Finds the tools, or installs them. Needs [`NPM`](crate::tools::requirement::NPM) and
    /// [`PYTHON`](crate::tools::requirement::PYTHON).
    pub(crate) fn find_or_install() -> Result<Self, Failure> {
        let settings = settings_directory();
        let spectral = tool_directory("spectral");
        install_npm_packages(&settings, &spectral)?;
        let schemathesis = tool_directory("schemathesis");
        let versions = settings.join("requirements.txt");
        install_once(&schemathesis, &versions, |directory| {
            install_schemathesis(directory, &versions)
        })?;
        Ok(Self {
            spectral: spectral.join("node_modules/.bin/spectral"),
            schemathesis: schemathesis.join("bin/schemathesis"),
        })
    }
}

/// The directory with the tools' rules and settings, and the estate that they test.
pub(super) fn settings_directory() -> PathBuf {
    cargo::workspace_root().join("tests/api")
}

fn install_schemathesis(directory: &Path, versions: &Path) -> Result<(), Failure> {
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(directory).stdout(io::stderr());
    program::run(&mut venv, "python3 -m venv")?;
    let mut pip = Command::new(directory.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--requirement"]);
    program::run(pip.arg(versions).stdout(io::stderr()), "pip install")
}
