//! `cargo xtask fresh`: runs the README's two commands in a bare Debian with a C compiler, a Rust toolchain and a
//! checkout of the last commit.
//!
//! Each command gets its own copy of the Debian, so that neither uses what the other has installed. Crates come from
//! this machine's cache; the commands fetch everything else themselves.

mod chroot;
mod demo;
mod readme_commands;
mod root_directory;

use std::time::Instant;

use crate::cargo;
use crate::failure::Failure;
use crate::tools::distribution_packages;
use crate::tools::program::is_root;
use crate::tools::requirement::{self, DEBOOTSTRAP, GIT};
use chroot::{Network, User};
use readme_commands::ReadmeCommands;
use root_directory::RootDirectory;

/// Options of `cargo xtask fresh`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fresh {
    pub(crate) debian: Debian,
    /// The user who runs the commands.
    pub(crate) user: User,
}

pub(crate) use chroot::User as FreshUser;

/// A release of Debian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Debian {
    Bookworm,
    Trixie,
}

impl Debian {
    /// Parses the number of a release.
    pub(crate) fn parse(number: &str) -> Option<Self> {
        match number {
            "12" => Some(Debian::Bookworm),
            "13" => Some(Debian::Trixie),
            _ => None,
        }
    }

    fn number(self) -> u32 {
        match self {
            Debian::Bookworm => 12,
            Debian::Trixie => 13,
        }
    }

    /// The release's name, for debootstrap.
    fn suite(self) -> &'static str {
        match self {
            Debian::Bookworm => "bookworm",
            Debian::Trixie => "trixie",
        }
    }
}

/// Runs both commands of the README, and the commands that the demo prints; prints their durations.
pub(crate) fn run(fresh: &Fresh) -> Result<(), Failure> {
    if !is_root() {
        let why = "`cargo xtask fresh` makes a root directory with debootstrap, and only root can; run it as root";
        return Err(Failure::Trouble(why.to_owned()));
    }
    requirement::ensure(&[&DEBOOTSTRAP, &GIT])?;
    cargo::run(&["fetch", "--locked"], &[])?;
    let readme = ReadmeCommands::read()?;
    let base = RootDirectory::make(fresh.debian)?;

    let demo_root = base.copy("demo")?;
    let start = Instant::now();
    let demo = demo::run(&demo_root, fresh.user, readme.run_command())?;
    let demo_seconds = start.elapsed().as_secs();
    demo_root.remove()?;

    let test_root = base.copy("test")?;
    let start = Instant::now();
    let closing = run_tests(&test_root, fresh.user, readme.test_command())?;
    let test_seconds = start.elapsed().as_secs();
    test_root.remove()?;
    base.remove()?;

    let (number, user) = (fresh.debian.number(), fresh.user.name());
    println!("fresh: Debian {number}, with nothing but a C compiler and Rust, as {user}");
    println!(
        "fresh: `{}` listened after {} s; {} commands that it printed did what they say; {demo_seconds} s in all",
        readme.run_command(),
        demo.seconds_until_listening,
        demo.n_commands
    );
    println!("fresh: `{}` passed in {test_seconds} s", readme.test_command());
    for line in closing {
        println!("fresh: {line}");
    }
    Ok(())
}

/// Runs the README's second command, and returns its closing lines.
fn run_tests(root: &RootDirectory, user: User, command: &str) -> Result<Vec<String>, Failure> {
    let mut run = root.run(user, Network::Registries, command)?;
    if user == User::Ordinary {
        // This user may not install the missing tools, so the chore has to print a command for root.
        let for_root =
            run.output.iter().find(|line| line.starts_with(distribution_packages::MANUAL_COMMAND));
        let (false, Some(for_root)) = (run.status.success(), for_root) else {
            return Err(Failure::Trouble(format!(
                "`{command}` should have failed with one command for root, on a machine where it can't install"
            )));
        };
        let installed = root.run(User::Root, Network::Registries, for_root.trim())?;
        installed.check("the command for root")?;
        run = root.run(user, Network::Registries, command)?;
    }
    run.check(command)?;
    let closing = ["test result: ", "api: ", "console: ", "xtask: passed", "xtask: every test"];
    let is_closing = |line: &&String| closing.iter().any(|it| line.starts_with(it));
    Ok(run.output.iter().filter(is_closing).cloned().collect())
}
