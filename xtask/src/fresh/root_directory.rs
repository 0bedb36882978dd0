//! The root directory of a bare Debian, made by debootstrap, with a C compiler, the Rust toolchain and a checkout.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Debian;
use super::chroot::{ChrootCommand, FinishedCommand, Network, User, isolated};
use crate::cargo;
use crate::failure::Failure;
use crate::tools::program::{self, read_output};

/// Name of the checkout in the home directory of the user who runs the commands.
pub(super) const CHECKOUT: &str = "gatehouse";

/// The root directory of a bare Debian. It is not removed if a command fails.
#[derive(Debug)]
pub(super) struct RootDirectory {
    directory: PathBuf,
    toolchain: PathBuf,
}

impl RootDirectory {
    /// Makes a root directory with everything that the README assumes.
    pub(super) fn make(debian: Debian) -> Result<Self, Failure> {
        let directory = cargo::target_directory().join("fresh").join(debian.suite());
        let toolchain = read_output(Command::new("rustc").args(["--print", "sysroot"]))
            .map(|it| PathBuf::from(it.trim()))
            .ok_or_else(|| {
                Failure::Trouble("rustc doesn't say where its toolchain is".to_owned())
            })?;
        let root = Self { directory, toolchain };
        remove(&root.directory)?;
        fs::create_dir_all(&root.directory).map_err(|cause| root.trouble(cause))?;

        eprintln!(
            "xtask: making a bare Debian {} in {}",
            debian.number(),
            root.directory.display()
        );
        let mut debootstrap = isolated();
        debootstrap.args([
            "debootstrap",
            "--variant=minbase",
            "--include=build-essential",
            debian.suite(),
        ]);
        run_program(debootstrap.arg(&root.directory), "debootstrap")?;
        root.copy_network_settings()?;
        let useradd = format!("useradd --create-home --shell /bin/bash {}", User::Ordinary.name());
        root.run(User::Root, Network::None, &useradd)?.check("useradd")?;
        for user in [User::Root, User::Ordinary] {
            root.give_checkout(user)?;
        }
        Ok(root)
    }

    /// Copies the root directory, for one command.
    pub(super) fn copy(&self, name: &str) -> Result<Self, Failure> {
        let directory = self.directory.with_extension(name);
        remove(&directory)?;
        let mut copy = Command::new("cp");
        run_program(
            copy.args(["-a", "--reflink=auto"]).arg(&self.directory).arg(&directory),
            "cp -a",
        )?;
        Ok(Self { directory, toolchain: self.toolchain.clone() })
    }

    /// Removes the root directory.
    pub(super) fn remove(self) -> Result<(), Failure> {
        remove(&self.directory)
    }

    /// Runs a command in the user's checkout; returns when the command has ended.
    pub(super) fn run(
        &self,
        user: User,
        network: Network,
        command: &str,
    ) -> Result<FinishedCommand, Failure> {
        self.start(user, network, command)?.finish()
    }

    /// Starts a command in the user's checkout.
    pub(super) fn start(
        &self,
        user: User,
        network: Network,
        command: &str,
    ) -> Result<ChrootCommand, Failure> {
        ChrootCommand::start(&self.directory, &self.toolchain, user, network, command)
    }

    /// Copies this machine's host names and name servers.
    fn copy_network_settings(&self) -> Result<(), Failure> {
        for file in ["/etc/hosts", "/etc/resolv.conf"] {
            let copy = self.directory.join(&file[1..]);
            fs::copy(file, copy).map_err(|cause| self.trouble(cause))?;
        }
        Ok(())
    }

    /// Gives a user a checkout of the last commit, and the crates that this machine has fetched.
    fn give_checkout(&self, user: User) -> Result<(), Failure> {
        let home = self.directory.join(&user.home()[1..]);
        let source = cargo::workspace_root();
        let mut clone = Command::new("git");
        clone.args(["clone", "--quiet", "--no-hardlinks"]).arg(&source).arg(home.join(CHECKOUT));
        run_program(&mut clone, "git clone")?;

        let registry = home.join(".cargo/registry");
        fs::create_dir_all(&registry).map_err(|cause| self.trouble(cause))?;
        for part in ["index", "cache"] {
            let mut copy = Command::new("cp");
            let fetched = cargo_home().join("registry").join(part);
            run_program(copy.args(["-a", "--reflink=auto"]).arg(fetched).arg(&registry), "cp -a")?;
        }
        let owner = format!("chown --recursive {0}: {1}", user.name(), user.home());
        self.run(User::Root, Network::None, &owner)?.check("chown")
    }

    fn trouble(&self, cause: io::Error) -> Failure {
        Failure::at_path(&self.directory, "can't be made", cause)
    }
}

fn cargo_home() -> PathBuf {
    let home = || env::home_dir().unwrap_or_default().join(".cargo");
    env::var_os("CARGO_HOME").map_or_else(home, PathBuf::from)
}

/// Removes a directory; fails if a file system is mounted in it, which must be another program's.
fn remove(directory: &Path) -> Result<(), Failure> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let is_below =
        |line: &&str| line.split(' ').nth(1).is_some_and(|at| Path::new(at).starts_with(directory));
    if let Some(mount) = mounts.lines().find(is_below) {
        return Err(Failure::Trouble(format!(
            "something is mounted where a root was: {mount}; unmount it"
        )));
    }
    match fs::remove_dir_all(directory) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(Failure::Trouble(format!(
            "{} can't be removed: {cause}; another chore may be using it",
            directory.display()
        ))),
        _ => Ok(()),
    }
}

/// Runs a command; its output goes to standard error, with the chore's own messages.
fn run_program(command: &mut Command, name: &str) -> Result<(), Failure> {
    program::run(command.stdout(io::stderr()), name)
}
