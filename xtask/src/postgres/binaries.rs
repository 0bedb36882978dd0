//! Finds PostgreSQL's server programs on this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tools::program::{read_output, search_directories};
use crate::tools::version::Version;

/// The directory where Debian and its derivatives install each major version of the server, outside of PATH.
const DISTRIBUTION_DIRECTORY: &str = "/usr/lib/postgresql";

/// An installed PostgreSQL server.
#[derive(Debug)]
pub(crate) struct PostgresBinaries {
    directory: PathBuf,
    version: Version,
}

impl PostgresBinaries {
    /// The oldest version that gatehouse supports.
    pub(crate) const LEAST_VERSION: Version = Version::new(15, 0);

    /// Finds a server: first in PATH, then the newest of the distribution's versions.
    pub(crate) fn find() -> Option<PostgresBinaries> {
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
            .filter_map(|directory| examine(&directory))
            .find(|binaries| binaries.version >= Self::LEAST_VERSION)
            .or_else(|| distributed.pop())
    }

    /// The path of a server program.
    pub(crate) fn path(&self, program: &str) -> PathBuf {
        self.directory.join(program)
    }

    /// The server's version.
    pub(crate) fn version(&self) -> Version {
        self.version
    }
}

/// The server in `directory`; `None` if the server is missing or incomplete.
fn examine(directory: &Path) -> Option<PostgresBinaries> {
    // The server is started from another working directory.
    let directory = std::path::absolute(directory).ok()?;
    if !directory.join("initdb").is_file() {
        return None;
    }
    let version = read_output(Command::new(directory.join("postgres")).arg("--version"))?;
    Some(PostgresBinaries { directory, version: Version::parse(&version)? })
}
