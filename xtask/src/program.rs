//! Programs on this machine: where they are, which version they are, and what they print.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::version::Version;

/// The path of a program in PATH, or in the system's own directories, which not every user has in PATH.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let system = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    search_directories().into_iter().chain(system).map(|it| it.join(name)).find(|it| it.is_file())
}

/// The directories in PATH.
pub(crate) fn search_directories() -> Vec<PathBuf> {
    env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default()
}

/// The version that a program prints for `--version`, if it is there.
pub(crate) fn find_version(name: &str) -> Option<Version> {
    Version::parse(&read_output(Command::new(find(name)?).arg("--version"))?)
}

/// What a program prints, if it is there and succeeds.
pub(crate) fn read_output(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether this process runs as root, as it does in many containers.
pub(crate) fn is_root() -> bool {
    read_output(Command::new("id").arg("-u")).is_some_and(|user| user.trim() == "0")
}
