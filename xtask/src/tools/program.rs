//! Programs on this machine: finding them, running them, and reading their output.

use std::env;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use super::version::Version;
use crate::failure::Failure;

/// The path of a program in PATH, or in the system's directories, which not every user has in PATH.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let system = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    search_directories().into_iter().chain(system).map(|it| it.join(name)).find(|it| it.is_file())
}

/// The directories in PATH.
pub(crate) fn search_directories() -> Vec<PathBuf> {
    env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default()
}

/// The version that a program prints for `--version`; `None` if the program is missing.
pub(crate) fn find_version(name: &str) -> Option<Version> {
    Version::parse(&read_output(Command::new(find(name)?).arg("--version"))?)
}

/// Standard output of a command; `None` if the program is missing or fails.
pub(crate) fn read_output(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Prints `name`, runs the command, and fails if the command does. Output goes where the caller has sent it.
pub(crate) fn run(command: &mut Command, name: &str) -> Result<(), Failure> {
    Failure::check(name, run_to_status(command, name)?)
}

/// Prints `name`, runs the command, and returns its exit status.
pub(crate) fn run_to_status(command: &mut Command, name: &str) -> Result<ExitStatus, Failure> {
    eprintln!("xtask: {name}");
    let status = command.stdin(Stdio::null()).status();
    status.map_err(|cause| Failure::Trouble(format!("cannot run {name}: {cause}")))
}

/// Whether this process runs as root, as it does in many containers.
pub(crate) fn is_root() -> bool {
    read_output(Command::new("id").arg("-u")).is_some_and(|user| user.trim() == "0")
}
