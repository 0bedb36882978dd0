//! Installing the distribution's packages, so that chores run on a fresh machine without preparation.

use std::process::Command;

use super::program::{self, is_root};
use crate::failure::Failure;

/// Begins the line of a command that root has to run. `fresh` looks for it.
pub(crate) const BY_HAND: &str = "    apt-get update && ";

/// Installs packages with apt-get, as root or by sudo. `why` says what is missing.
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
        (false, None) => return Err(left_to_root(why, packages)),
    };

    eprintln!("xtask: {why}");
    let apt_get = [as_root, &["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]].concat();
    if let Err(failure) = run_aloud(&[&apt_get, &["--quiet=2", "update"][..]].concat()) {
        // One unreachable package source fails the whole update, and need not matter here.
        failure.print();
        eprintln!("xtask: going on with the package lists that are there");
    }
    let without_services = [as_root, &["sh", "-c", WITHOUT_SERVICES, "install"]].concat();
    let install = [&["--quiet=2"], &INSTALL[..], packages].concat();
    let installed = run_aloud(&[&without_services, &apt_get, &install[..]].concat());
    installed.map_err(|failure| {
        if as_root.is_empty() {
            return failure;
        }
        failure.print();
        left_to_root(why, packages)
    })
}

const INSTALL: [&str; 3] = ["install", "--yes", "--no-install-recommends"];

/// The one command that installs everything, for a user who can't.
fn left_to_root(why: &str, packages: &[&str]) -> Failure {
    let command = format!("{BY_HAND}apt-get {} {}", INSTALL.join(" "), packages.join(" "));
    Failure::Trouble(format!(
        "{why}; run this as root, then the same chore again (where packages start services, the tests don't need \
         them):\n\n{command}\n"
    ))
}

/// Runs a command, and keeps packages from starting their services meanwhile: the tests start their own.
const WITHOUT_SERVICES: &str = "p=/usr/sbin/policy-rc.d; [ -e $p ] || { trap 'rm -f $p' EXIT; \
                                printf '#!/bin/sh\\nexit 101\\n' >$p; chmod 755 $p; }; \"$@\"";

/// Prints a command before running it: it changes the machine outside of the workspace.
fn run_aloud(words: &[&str]) -> Result<(), Failure> {
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
            left_to_root("curl is missing; npm is missing", &["curl", "nodejs", "npm"])
        else {
            panic!("another failure");
        };
        let command = text.lines().find(|line| line.starts_with(BY_HAND));
        let expected =
            "    apt-get update && apt-get install --yes --no-install-recommends curl nodejs npm";
        assert_eq!(command, Some(expected), "{text}");
    }
}
