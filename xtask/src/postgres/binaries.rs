//! Where PostgreSQL's server programs are on this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tools::program::{read_output, search_directories};
use crate::tools::version::Version;

/// Debian and its relatives keep the server programs here, outside of PATH: one directory for
/// each major version.
const DISTRIBUTION_DIRECTORY: &str = "/usr/lib/postgresql";

/// The directory of one installed PostgreSQL server.
#[derive(Debug)]
pub(crate) struct PostgresBinaries {
    directory: PathBuf,
    version: Version,
}

impl PostgresBinaries {
    /// The oldest version that gatehouse works with.
    pub(crate) const LEAST_VERSION: Version = Version::new(15, 0);

    /// Finds the server: a directory in PATH comes first; of the distribution's versions, the newest.
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

    /// The path of one of the server programs.
    pub(crate) fn path(&self, program: &str) -> PathBuf {
        self.directory.join(program)
    }

    /// The server's version.
    pub(crate) fn version(&self) -> Version {
        self.version
    }
}

/// The server in `directory`, if there is a complete one.
fn examine(directory: &Path) -> Option<PostgresBinaries> {
    // The server is started from another working directory.
    let directory = std::path::absolute(directory).ok()?;
    if !directory.join("initdb").is_file() {
        return None;
    }
    let answer = read_output(Command::new(directory.join("postgres")).arg("--version"))?;
    Some(PostgresBinaries { directory, version: Version::parse(&answer)? })
}
