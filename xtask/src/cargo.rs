//! Calling cargo for the workspace that this xtask belongs to, and what it has built, from wherever it was started.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::Failure;

/// Runs `cargo ARGUMENTS` in the workspace root with `environment` added, its output going
/// straight through.
pub(crate) fn run(arguments: &[&str], environment: &[(&str, &OsStr)]) -> Result<(), Failure> {
    start("cargo", &cargo(), arguments, environment, None)
}

/// Does the same, and shows the output only when all is done: for what runs beside something else.
pub(crate) fn run_beside(
    arguments: &[&str],
    environment: &[(&str, &OsStr)],
) -> Result<(), Failure> {
    let unusable = |cause| Failure::Trouble(format!("output of cargo can't be kept: {cause}"));
    let path = target_directory().join("beside.log");
    let log = File::create(&path).map_err(unusable)?;
    let result = start("cargo", &cargo(), arguments, environment, Some(log));
    let mut output = File::open(&path).map_err(unusable)?;
    io::copy(&mut output, &mut io::stdout().lock()).map_err(unusable)?;
    result
}

fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Runs a program that cargo has just built, into `debug` or `release`, in the same way.
pub(crate) fn run_built(
    build: &str,
    name: &str,
    arguments: &[&str],
    environment: &[(&str, &OsStr)],
) -> Result<(), Failure> {
    start(name, find_binary(build, name)?.as_os_str(), arguments, environment, None)
}

/// Runs a program that is at `path`, in the same way.
pub(crate) fn run_program(
    path: &Path,
    arguments: &[&str],
    environment: &[(&str, &OsStr)],
) -> Result<(), Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    start(&name, path.as_os_str(), arguments, environment, None)
}

fn start(
    name: &str,
    program: &OsStr,
    arguments: &[&str],
    environment: &[(&str, &OsStr)],
    log: Option<File>,
) -> Result<(), Failure> {
    let settings: String = environment
        .iter()
        .map(|(name, value)| format!("{name}={:?} ", value.to_string_lossy()))
        .collect();
    let name = [&[name], arguments].concat().join(" ");
    eprintln!("xtask: {settings}{name}");

    // A thousand connections at once are more than the usual limit of open files allows.
    let mut command = Command::new("sh");
    command.args(["-c", r#"ulimit -n "$(ulimit -Hn)" 2>/dev/null; exec "$0" "$@""#]).arg(program);
    forget_own_package(&mut command);
    let cannot_run = |error| {
        let program = program.display();
        Failure::Trouble(format!(
            "cannot run {program}: {error}; where that is cargo, install it or set CARGO"
        ))
    };
    if let Some(log) = log {
        command.stderr(log.try_clone().map_err(cannot_run)?).stdout(log);
    }
    let status = command
        .args(arguments)
        .envs(environment.iter().copied())
        .current_dir(workspace_root())
        // The same with and without a terminal: nothing that is run waits for somebody.
        .stdin(Stdio::null())
        .status()
        .map_err(cannot_run)?;
    Failure::check(&name, status)
}

/// The absolute path of a binary that cargo has just built, into `debug` or `release`.
pub(crate) fn find_binary(build: &str, name: &str) -> Result<PathBuf, Failure> {
    let binary = target_directory().join(build).join(name);
    if binary.is_file() {
        Ok(binary)
    } else {
        Err(Failure::Trouble(format!(
            "no binary at {}; when cargo builds into another directory, set \
             CARGO_TARGET_DIR to it",
            binary.display()
        )))
    }
}

/// Where cargo builds, and where chores may leave what can be made again.
pub(crate) fn target_directory() -> PathBuf {
    // Joining keeps an absolute CARGO_TARGET_DIR as it is; a relative one counts from the
    // directory that `run` runs cargo in.
    workspace_root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or("target".into()))
}

/// Makes a directory of the workspace, unless it is there.
pub(crate) fn make_directory(path: &str) -> Result<(), Failure> {
    fs::create_dir_all(workspace_root().join(path))
        .map_err(|cause| Failure::Trouble(format!("{path} can't be made: {cause}")))
}

/// Makes an empty directory; removes the one that was there.
pub(crate) fn recreate_directory(directory: &Path) -> Result<(), Failure> {
    let removed = if directory.exists() { fs::remove_dir_all(directory) } else { Ok(()) };
    let made = removed.and_then(|()| fs::create_dir_all(directory));
    made.map_err(|cause| Failure::at_path(directory, "can't be made anew", cause))
}

/// The directory of the whole workspace.
pub(crate) fn workspace_root() -> PathBuf {
    // `cargo run` says where the package is now; what was compiled in serves a direct start.
    let package = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package.parent().map_or_else(|| package.clone(), PathBuf::from)
}

/// `cargo run` describes the xtask package in the environment. Some build scripts watch these
/// variables, and would run again whenever cargo is called from here after a call by hand.
fn forget_own_package(command: &mut Command) {
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
}
