//! cargo-deny: checks licences, versions, sources and security advisories of all dependencies by deny.toml.
//!
//! No registry has a current build of cargo-deny, so `cargo xtask deny` compiles it once, below `target`. That takes a
//! minute or two, so `cargo xtask lint` runs cargo-deny only if it is installed.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo;
use crate::failure::Failure;
use crate::tools::installer::tool_directory;
use crate::tools::program::read_output;

const VERSION: &str = "0.20.2";

/// Address that cargo-deny clones the advisory database from.
const ADVISORY_DATABASE: &str = "https://github.com/RustSec/advisory-db";

/// cargo-deny, in the version that deny.toml is written for.
#[derive(Debug)]
pub(crate) struct CargoDeny {
    program: PathBuf,
}

impl CargoDeny {
    /// Finds the program that [`CargoDeny::find_or_install`] has installed.
    pub(crate) fn find() -> Option<Self> {
        let program = directory().join("bin/cargo-deny");
        program.is_file().then_some(Self { program })
    }

    /// Finds the program, or compiles it. Needs crates.io, or a cache of it.
    pub(crate) fn find_or_install() -> Result<Self, Failure> {
        if let Some(found) = Self::find() {
            return Ok(found);
        }
        let (package, directory) = (format!("cargo-deny@={VERSION}"), directory());
        let root = directory.display().to_string();
        // The check takes seconds without optimisation, too, and the compilation a fraction of the time.
        let install = ["install", "--locked", "--debug", "--root", &root, &package];
        cargo::run(&install, &[("CARGO_PROFILE_DEV_DEBUG", OsStr::new("false"))])?;
        Self::find().ok_or_else(|| {
            Failure::Trouble(format!("cargo install has left no cargo-deny in {root}"))
        })
    }

    /// Checks licences, versions and sources.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        // cargo-deny ignores versions in Cargo.lock that are never built, and would call their entries stale.
        // `lock_file` finds the entries that are really stale.
        let unmatched = ["--allow", "unmatched-skip"];
        let check = [&["--locked", "check"], &unmatched[..], &["licenses", "bans", "sources"]];
        cargo::run_program(&self.program, &check.concat(), &[])
    }

    /// Checks security advisories and withdrawn versions.
    pub(crate) fn check_advisories(&self, database: &AdvisoryDatabase) -> Result<(), Failure> {
        let check = ["--locked", "check", "advisories"];
        cargo::run_program(&self.program, &check, &database.environment())
    }

    /// Fetches security advisories. Needs git.
    pub(crate) fn fetch_advisories(&self, database: &AdvisoryDatabase) -> Result<(), Failure> {
        cargo::run_program(&self.program, &["fetch", "db"], &database.environment())
    }
}

/// The directory of this version, so that another version is installed next to it.
fn directory() -> PathBuf {
    tool_directory(&format!("cargo-deny-{VERSION}"))
}

/// Source of security advisories.
#[derive(Debug)]
pub(crate) struct AdvisoryDatabase {
    /// Setting of git that replaces the database's address with a clone; `None` for the address itself.
    redirect: Option<OsString>,
}

impl AdvisoryDatabase {
    /// The database of all Rust projects, on the Internet.
    pub(crate) fn of_rustsec() -> Self {
        Self { redirect: None }
    }

    /// A clone of the database; prints the day of its last commit.
    pub(crate) fn in_clone(directory: &Path) -> Result<Self, Failure> {
        let wrong = |why: &str| {
            let directory = directory.display();
            Failure::Trouble(format!("{directory} is no clone of an advisory database: {why}"))
        };
        let clone = directory.canonicalize().map_err(|cause| wrong(&cause.to_string()))?;
        let mut git = Command::new("git");
        let last_commit = git.arg("-C").arg(&clone).args(["log", "-1", "--format=%cs", "main"]);
        let day = read_output(last_commit).ok_or_else(|| wrong("git finds no branch `main`"))?;
        eprintln!("xtask: {} has the advisories until {}", clone.display(), day.trim());
        let redirect = ["url.".as_ref(), clone.as_os_str(), ".insteadOf".as_ref()];
        Ok(Self { redirect: Some(redirect.into_iter().collect()) })
    }

    /// Environment variables for git, which cargo-deny runs.
    fn environment(&self) -> Vec<(&str, &OsStr)> {
        let settings = self.redirect.iter().flat_map(|redirect| {
            [
                ("GIT_CONFIG_COUNT", OsStr::new("1")),
                ("GIT_CONFIG_KEY_0", redirect.as_os_str()),
                ("GIT_CONFIG_VALUE_0", OsStr::new(ADVISORY_DATABASE)),
            ]
        });
        settings.collect()
    }
}
