//! Where PostgreSQL's server programs are on this machine, and installing them when they are
//! missing, so that the tests run on a fresh machine without preparation.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::packages::{self, read_output, search_directories};

const OLDEST_USABLE_VERSION: u32 = 15;

/// Debian and its relatives keep the server programs here, outside of PATH: one directory for
/// each major version.
const DISTRIBUTION_DIRECTORY: &str = "/usr/lib/postgresql";

/// The directory of one installed PostgreSQL server.
#[derive(Debug)]
pub(crate) struct PostgresBinaries {
    directory: PathBuf,
    version: u32,
}

impl PostgresBinaries {
    /// Finds a usable server, installing the distribution's one when there is none.
    pub(crate) fn find_or_install() -> Result<PostgresBinaries, Failure> {
        if let Some(found) = find() {
            return Ok(found);
        }
        install()?;
        find().ok_or_else(|| {
            Failure::Trouble(format!(
                "the distribution's PostgreSQL is older than {OLDEST_USABLE_VERSION}; {}",
                explain_manual_installation()
            ))
        })
    }

    /// The path of one of the server programs.
    pub(crate) fn path(&self, program: &str) -> PathBuf {
        self.directory.join(program)
    }

    /// The major version.
    pub(crate) fn version(&self) -> u32 {
        self.version
    }
}

/// What somebody has put into PATH comes first; of the distribution's versions, the newest.
fn find() -> Option<PostgresBinaries> {
    let configured = read_output(Command::new("pg_config").arg("--bindir"));
    let mut distributed: Vec<PostgresBinaries> = fs::read_dir(DISTRIBUTION_DIRECTORY)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| examine(&entry.path().join("bin")))
        .collect();
    distributed.sort_by_key(|binaries| binaries.version);

    search_directories()
        .into_iter()
        .chain(configured.map(|directory| PathBuf::from(directory.trim())))
        .find_map(|directory| examine(&directory))
        .or_else(|| distributed.pop())
}

/// The server in `directory`, if there is a complete one that is new enough.
fn examine(directory: &Path) -> Option<PostgresBinaries> {
    // The server is started from another working directory.
    let directory = std::path::absolute(directory).ok()?;
    if !directory.join("initdb").is_file() {
        return None;
    }
    let answer = read_output(Command::new(directory.join("postgres")).arg("--version"))?;
    let version = parse_major_version(&answer)?;
    (version >= OLDEST_USABLE_VERSION).then_some(PostgresBinaries { directory, version })
}

/// Reads `postgres (PostgreSQL) 15.6 (Debian 15.6-0+deb12u1)`, and `17beta1` in its place too.
fn parse_major_version(answer: &str) -> Option<u32> {
    let (_, version) = answer.split_once("(PostgreSQL) ")?;
    let end = version.find(|character: char| !character.is_ascii_digit());
    version[..end.unwrap_or(version.len())].parse().ok()
}

fn install() -> Result<(), Failure> {
    let what = format!("a PostgreSQL server, {OLDEST_USABLE_VERSION} or newer,");
    packages::install(&what, &["postgresql"], &explain_manual_installation())
}

fn explain_manual_installation() -> String {
    format!(
        "install the PostgreSQL server {OLDEST_USABLE_VERSION} or newer by hand (the programs \
         initdb and postgres) and put their directory into PATH"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn major_versions_are_read_from_releases_and_betas() {
        let release = "postgres (PostgreSQL) 15.6 (Debian 15.6-0+deb12u1)\n";
        assert_eq!(parse_major_version(release), Some(15));
        assert_eq!(parse_major_version("postgres (PostgreSQL) 19beta1\n"), Some(19));
        assert_eq!(parse_major_version("postgres (PostgreSQL) 17"), Some(17));
        assert_eq!(parse_major_version("something else 15.6"), None);
    }
}
