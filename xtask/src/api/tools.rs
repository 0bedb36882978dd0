//! Tools that test the API by its OpenAPI document, from npm and PyPI.

use std::path::PathBuf;

use crate::cargo;
use crate::failure::Failure;
use crate::tools::installer::{install_npm_packages, install_python_packages, tool_directory};

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
        install_python_packages(&settings, &schemathesis)?;
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
