//! Runs cargo in the workspace, and the programs that it has built; knows the workspace's directories.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::Failure;

/// Runs `cargo ARGUMENTS` in the workspace root, with `environment` added.
pub(crate) fn run(arguments: &[&str], environment: &[(&str, &OsStr)]) -> Result<(), Failure> {
    run_command("cargo", &cargo(), arguments, environment, None)
}

/// Runs `cargo ARGUMENTS` and prints its output at the end, so that commands can run at the same time.
pub(crate) fn run_buffered(
    arguments: &[&str],
    environment: &[(&str, &OsStr)],
) -> Result<(), Failure> {
    let unusable = |cause| Failure::Trouble(format!("output of cargo can't be stored: {cause}"));
    let path = target_directory().join("buffered.log");
    let log = File::create(&path).map_err(unusable)?;
    let result = run_command("cargo", &cargo(), arguments, environment, Some(log));
    let mut output = File::open(&path).map_err(unusable)?;
    io::copy(&mut output, &mut io::stdout().lock()).map_err(unusable)?;
    result
}

fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Runs a program that cargo has built, in the workspace root; `build` is `debug` or `release`.
pub(crate) fn run_built(
    build: &str,
    name: &str,
    arguments: &[&str],
    environment: &[(&str, &OsStr)],
) -> Result<(), Failure> {
    run_command(name, find_binary(build, name)?.as_os_str(), arguments, environment, None)
}

/// Runs the program at `path` in the workspace root, with `environment` added.
pub(crate) fn run_program(
    path: &Path,
    arguments: &[&str],
    environment: &[(&str, &OsStr)],
) -> Result<(), Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    run_command(&name, path.as_os_str(), arguments, environment, None)
}

fn run_command(
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
    remove_package_variables(&mut command);
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
        // No program may wait for input, with a terminal or without.
        .stdin(Stdio::null())
        .status()
        .map_err(cannot_run)?;
    Failure::check(&name, status)
}

/// The absolute path of a binary that cargo has built; `build` is `debug` or `release`.
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

/// The directory for files that can be made again: builds, installed tools, logs.
pub(crate) fn target_directory() -> PathBuf {
    // Joining keeps an absolute CARGO_TARGET_DIR as it is; a relative one counts from the
    // directory that `run` runs cargo in.
    workspace_root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or("target".into()))
}

/// Makes a directory of the workspace, unless it exists.
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

/// The root directory of the workspace.
pub(crate) fn workspace_root() -> PathBuf {
    // `cargo run` sets the variable; a program that is started directly uses the directory of its build.
    let package = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package.parent().map_or_else(|| package.clone(), PathBuf::from)
}

/// Removes the variables with which `cargo run` describes the xtask package.
///
/// Some build scripts depend on these variables, and would run again after each call of cargo by hand.
fn remove_package_variables(command: &mut Command) {
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
}
