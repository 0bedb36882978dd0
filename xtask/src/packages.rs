//! What is installed on this machine, and installing the distribution's packages where something is missing, so that
//! the tests run on a fresh machine without preparation.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::failure::Failure;

/// Installs the distribution's packages. `what` names what is missing, `by_hand` says what to do where that is not
/// possible.
pub(crate) fn install(what: &str, packages: &[&str], by_hand: &str) -> Result<(), Failure> {
    let refuse = |obstacle: &str| {
        Failure::Trouble(format!("the tests need {what}, and {obstacle}; {by_hand}"))
    };
    if !is_in_path("apt-get") {
        return Err(refuse("there is no apt-get to install it with"));
    }
    let as_root: &[&str] = match (is_root(), is_in_path("sudo")) {
        (true, _) => &[],
        (false, true) => &["sudo"],
        (false, false) => return Err(refuse("installing it takes root or sudo")),
    };

    let names = packages.join("`, `");
    eprintln!(
        "xtask: {what} is not installed; the tests need it, so the distribution's `{names}` is \
         installed now"
    );
    let apt_get = [as_root, &["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]].concat();
    if let Err(failure) = run_aloud(&[&apt_get, &["update"][..]].concat()) {
        // One unreachable package source fails the whole update, and need not matter here.
        failure.report();
        eprintln!("xtask: going on with the package lists that are there");
    }
    let install = ["install", "--yes", "--no-install-recommends"];
    let quietly = [as_root, &["sh", "-c", QUIETLY, "install"]].concat();
    run_aloud(&[&quietly, &apt_get, &install[..], packages].concat())
}

/// Runs what it is given, and lets no package start a service of its own meanwhile: the tests start what they need,
/// and nobody asked for more.
const QUIETLY: &str = "p=/usr/sbin/policy-rc.d; [ -e $p ] || { trap 'rm -f $p' EXIT; \
                       printf '#!/bin/sh\\nexit 101\\n' >$p; chmod 755 $p; }; \"$@\"";

/// Says a command before running it: it changes the machine outside of the workspace.
fn run_aloud(words: &[&str]) -> Result<(), Failure> {
    let line = words.join(" ");
    eprintln!("xtask: {line}");
    let (program, arguments) = words
        .split_first()
        .ok_or_else(|| Failure::Trouble("no command to run; name a program".to_owned()))?;
    let status = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .status()
        .map_err(|error| Failure::Trouble(format!("cannot run {program}: {error}")))?;
    if status.success() { Ok(()) } else { Err(Failure::Program { name: line, status }) }
}

/// Whether this process runs as root, as it does in many containers.
pub(crate) fn is_root() -> bool {
    read_output(Command::new("id").arg("-u")).is_some_and(|user| user.trim() == "0")
}

/// Whether there is a program of this name.
pub(crate) fn is_in_path(program: &str) -> bool {
    search_directories().iter().any(|directory| directory.join(program).is_file())
}

/// Where programs are looked for.
pub(crate) fn search_directories() -> Vec<PathBuf> {
    env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default()
}

/// What a program prints, if it is there and succeeds.
pub(crate) fn read_output(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
