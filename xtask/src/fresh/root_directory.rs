//! A bare Debian in a directory: what debootstrap makes, a C compiler, the Rust toolchain and a checkout.

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

/// The checkout, in the home directory of the user who runs the commands.
pub(super) const CHECKOUT: &str = "gatehouse";

/// A root directory. It stays where a command in it has failed.
#[derive(Debug)]
pub(super) struct RootDirectory {
    directory: PathBuf,
    toolchain: PathBuf,
}

impl RootDirectory {
    /// Makes a root with everything that the README takes for granted.
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
        finish(debootstrap.arg(&root.directory), "debootstrap")?;
        root.connect_to_network()?;
        let useradd = format!("useradd --create-home --shell /bin/bash {}", User::Ordinary.name());
        root.run(User::Root, Network::None, &useradd)?.succeeded("useradd")?;
        for user in [User::Root, User::Ordinary] {
            root.give(user)?;
        }
        Ok(root)
    }

    /// A copy beside this root, for one command.
    pub(super) fn copy(&self, name: &str) -> Result<Self, Failure> {
        let directory = self.directory.with_extension(name);
        remove(&directory)?;
        let mut copy = Command::new("cp");
        finish(copy.args(["-a", "--reflink=auto"]).arg(&self.directory).arg(&directory), "cp -a")?;
        Ok(Self { directory, toolchain: self.toolchain.clone() })
    }

    /// Removes the directory.
    pub(super) fn remove(self) -> Result<(), Failure> {
        remove(&self.directory)
    }

    /// Runs a command to its end, in the user's checkout.
    pub(super) fn run(
        &self,
        user: User,
        network: Network,
        command: &str,
    ) -> Result<FinishedCommand, Failure> {
        self.enter(user, network, command)?.finish()
    }

    /// Starts a command in the user's checkout.
    pub(super) fn enter(
        &self,
        user: User,
        network: Network,
        command: &str,
    ) -> Result<ChrootCommand, Failure> {
        ChrootCommand::start(&self.directory, &self.toolchain, user, network, command)
    }

    /// Host names and their servers are the machine's, in every root.
    fn connect_to_network(&self) -> Result<(), Failure> {
        for file in ["/etc/hosts", "/etc/resolv.conf"] {
            let copy = self.directory.join(&file[1..]);
            fs::copy(file, copy).map_err(|cause| self.trouble(cause))?;
        }
        Ok(())
    }

    /// Gives a user a checkout of the last commit, and the crates that this machine has fetched.
    fn give(&self, user: User) -> Result<(), Failure> {
        let home = self.directory.join(&user.home()[1..]);
        let source = cargo::workspace_root();
        let mut clone = Command::new("git");
        clone.args(["clone", "--quiet", "--no-hardlinks"]).arg(&source).arg(home.join(CHECKOUT));
        finish(&mut clone, "git clone")?;

        let registry = home.join(".cargo/registry");
        fs::create_dir_all(&registry).map_err(|cause| self.trouble(cause))?;
        for part in ["index", "cache"] {
            let mut copy = Command::new("cp");
            let fetched = cargo_home().join("registry").join(part);
            finish(copy.args(["-a", "--reflink=auto"]).arg(fetched).arg(&registry), "cp -a")?;
        }
        let owner = format!("chown --recursive {0}: {1}", user.name(), user.home());
        self.run(User::Root, Network::None, &owner)?.succeeded("chown")
    }

    fn trouble(&self, cause: io::Error) -> Failure {
        Failure::at_path(&self.directory, "can't be made", cause)
    }
}

fn cargo_home() -> PathBuf {
    let home = || env::home_dir().unwrap_or_default().join(".cargo");
    env::var_os("CARGO_HOME").map_or_else(home, PathBuf::from)
}

/// Removes a directory. Mounts in it end with the process that made them; one that is there all the same is another's.
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

fn finish(command: &mut Command, name: &str) -> Result<(), Failure> {
    program::run(command.stdout(io::stderr()), name)
}
