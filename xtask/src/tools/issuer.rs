//! The OpenID Connect issuer that tests sign in at.

use std::path::PathBuf;

use super::installer::{copy_file, install_npm_packages, tool_directory};
use crate::cargo;
use crate::failure::Failure;

/// The path of the issuer's script, with its packages from npm installed next to it. Needs [`NPM`](super::requirement::NPM).
pub(crate) fn find_or_install() -> Result<PathBuf, Failure> {
    let source = cargo::workspace_root().join("tests/oidc");
    let directory = tool_directory("issuer");
    install_npm_packages(&source, &directory)?;
    copy_file("issuer.js", &source, &directory)?;
    Ok(directory.join("issuer.js"))
}
