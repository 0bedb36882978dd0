//! Installing the distribution's packages, so that chores run on a fresh machine without preparation.

use std::process::Command;

use super::program::{self, is_root};
use crate::failure::Failure;

/// Beginning of the printed command that root has to run. `cargo xtask fresh` looks for it.
pub(crate) const MANUAL_COMMAND: &str = "    apt-get update && ";

/// Installs packages with apt-get, as root or with sudo. `why` says which tools are missing.
pub(crate) fn install(why: &str, packages: &[&str]) -> Result<(), Failure> {
    if program::find("apt-get").is_none() {
        let names = packages.join(", ");
        return Err(Failure::Trouble(format!(
            "{why}; there is no apt-get here, so install by hand what Debian has as {names}"
        )));
    }
    let as_root: &[&str] = match (is_root(), program::find("sudo")) {
        (true, _) => &[],
        (false, Some(_)) => &["sudo"],
        (false, None) => return Err(needs_root(why, packages)),
    };

    eprintln!("xtask: {why}");
    let apt_get = [as_root, &["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]].concat();
    if let Err(failure) = run_words(&[&apt_get, &["--quiet=2", "update"][..]].concat()) {
        // One unreachable package source fails the whole update, and may not have these packages anyway.
        failure.print();
        eprintln!("xtask: going on with the present package lists");
    }
    let without_services = [as_root, &["sh", "-c", WITHOUT_SERVICES, "install"]].concat();
    let install = [&["--quiet=2"], &INSTALL[..], packages].concat();
    let installed = run_words(&[&without_services, &apt_get, &install[..]].concat());
    installed.map_err(|failure| {
        if as_root.is_empty() {
            return failure;
        }
        failure.print();
        needs_root(why, packages)
    })
}

const INSTALL: [&str; 3] = ["install", "--yes", "--no-install-recommends"];

/// A failure with the one command that installs all packages, for a user who may not install any.
fn needs_root(why: &str, packages: &[&str]) -> Failure {
    let command = format!("{MANUAL_COMMAND}apt-get {} {}", INSTALL.join(" "), packages.join(" "));
    Failure::Trouble(format!(
        "{why}; run this as root, then the same chore again (where packages start services, the tests don't need \
         them):\n\n{command}\n"
    ))
}

/// Shell script that runs a command, and keeps new packages from starting services: the tests start their own.
const WITHOUT_SERVICES: &str = "p=/usr/sbin/policy-rc.d; [ -e $p ] || { trap 'rm -f $p' EXIT; \
                                printf '#!/bin/sh\\nexit 101\\n' >$p; chmod 755 $p; }; \"$@\"";

/// Prints and runs a command.
fn run_words(words: &[&str]) -> Result<(), Failure> {
    let (program, arguments) = words
        .split_first()
        .ok_or_else(|| Failure::Trouble("no command to run; name a program".to_owned()))?;
    program::run(Command::new(program).args(arguments), &words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_without_rights_gets_one_command_for_everything() {
        let Failure::Trouble(text) =
            needs_root("curl is missing; npm is missing", &["curl", "nodejs", "npm"])
        else {
            panic!("another failure");
        };
        let command = text.lines().find(|line| line.starts_with(MANUAL_COMMAND));
        let expected =
            "    apt-get update && apt-get install --yes --no-install-recommends curl nodejs npm";
        assert_eq!(command, Some(expected), "{text}");
    }
}
