//! The tools that chores need from the machine, each with its least version and the packages that bring it.
//!
//! A chore names all its requirements before it begins. Each tool that is missing or too old is installed in one call of
//! apt-get, or named in one command where only root may install.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::distribution_packages;
use super::program::{self, find_version, read_output};
use super::version::Version;
use crate::failure::Failure;
use crate::postgres::PostgresBinaries;

/// A tool that a chore can't do without.
#[derive(Debug)]
pub(crate) struct Requirement {
    /// The tool's name, for people.
    name: &'static str,
    /// The oldest version that does.
    least: Version,
    /// The version on this machine.
    find: fn() -> Option<Version>,
    /// The distribution's packages that bring the tool.
    packages: &'static [&'static str],
}

pub(crate) const POSTGRES: Requirement = Requirement {
    name: "PostgreSQL's server",
    least: PostgresBinaries::LEAST_VERSION,
    find: || PostgresBinaries::find().map(|it| it.version()),
    packages: &["postgresql"],
};

pub(crate) const PGBOUNCER: Requirement = Requirement {
    name: "PgBouncer",
    least: Version::new(1, 18),
    find: || find_version("pgbouncer"),
    packages: &["pgbouncer"],
};

/// npm from version 7 on reads the locks. It brings its Node.js, of whatever version: `node.rs` sees to a newer one.
pub(crate) const NPM: Requirement = Requirement {
    name: "npm",
    least: Version::new(7, 0),
    find: || find_version("node").and(find_version("npm")),
    packages: &["nodejs", "npm"],
};

/// Debian has the module that makes virtual environments in a package of its own.
pub(crate) const PYTHON: Requirement = Requirement {
    name: "Python with its module venv",
    least: Version::new(3, 10),
    find: || {
        let modules =
            Command::new("python3").args(["-c", "import venv, ensurepip"]).output().ok()?;
        modules.status.success().then(|| find_version("python3"))?
    },
    packages: &["python3", "python3-venv"],
};

/// The oldest version that shows the console.
pub(crate) const CHROMIUM: Requirement = Requirement {
    name: "Chromium",
    least: Version::new(123, 0),
    find: || {
        let chromium = find_chromium()?;
        Version::parse(&read_output(Command::new(chromium).args(["--no-sandbox", "--version"]))?)
    },
    packages: &["chromium"],
};

/// Chromium starts without a font, and shows nothing.
pub(crate) const FONT: Requirement = Requirement {
    name: "a font",
    least: Version::ANY,
    find: || has_font(Path::new("/usr/share/fonts")).then_some(Version::ANY),
    packages: &["fonts-dejavu-core"],
};

/// The README's tour uses it.
pub(crate) const CURL: Requirement = Requirement {
    name: "curl",
    least: Version::ANY,
    find: || find_version("curl"),
    packages: &["curl"],
};

/// npm and pip fetch over TLS.
pub(crate) const CERTIFICATES: Requirement = Requirement {
    name: "the certificates of public authorities",
    least: Version::ANY,
    find: || {
        let named =
            ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().any(|it| env::var_os(it).is_some());
        let bundle = Path::new("/etc/ssl/certs/ca-certificates.crt");
        (named || bundle.is_file()).then_some(Version::ANY)
    },
    packages: &["ca-certificates"],
};

/// Debian's Patroni reaches etcd by a module in a package of its own.
pub(crate) const PATRONI: Requirement = Requirement {
    name: "Patroni",
    least: Version::new(2, 1),
    find: || find_version("patroni"),
    packages: &["patroni", "python3-etcd"],
};

pub(crate) const ETCD: Requirement = Requirement {
    name: "etcd",
    least: Version::new(3, 4),
    find: || find_version("etcd"),
    packages: &["etcd-server"],
};

pub(crate) const HAPROXY: Requirement = Requirement {
    name: "HAProxy",
    least: Version::new(2, 4),
    // It takes one dash.
    find: || Version::parse(&read_output(Command::new(program::find("haproxy")?).arg("-v"))?),
    packages: &["haproxy"],
};

/// The failover test looks for a server's child processes with `ps`.
pub(crate) const PROCPS: Requirement = Requirement {
    name: "ps",
    least: Version::ANY,
    find: || find_version("ps"),
    packages: &["procps"],
};

pub(crate) const DEBOOTSTRAP: Requirement = Requirement {
    name: "debootstrap",
    least: Version::ANY,
    find: || find_version("debootstrap"),
    packages: &["debootstrap", "debian-archive-keyring"],
};

/// libFuzzer is written in it.
pub(crate) const CXX: Requirement = Requirement {
    name: "a C++ compiler",
    least: Version::ANY,
    find: || find_version("c++"),
    packages: &["g++"],
};

pub(crate) const GIT: Requirement = Requirement {
    name: "git",
    least: Version::ANY,
    find: || find_version("git"),
    packages: &["git"],
};

/// The browser that drives the console: the one that CHROMIUM names, or the distribution's.
pub(crate) fn find_chromium() -> Option<PathBuf> {
    env::var_os("CHROMIUM").map(PathBuf::from).or_else(|| program::find("chromium"))
}

/// Installs each of these tools that is missing or too old.
pub(crate) fn ensure(requirements: &[&Requirement]) -> Result<(), Failure> {
    if let Some(named) = env::var_os("CHROMIUM").filter(|_| (CHROMIUM.find)().is_none()) {
        return Err(Failure::Trouble(format!(
            "CHROMIUM names {}, which is no Chromium; correct it, or unset it for the distribution's",
            named.display()
        )));
    }
    let unmet: Vec<&Requirement> = requirements.iter().copied().filter(|it| !it.is_met()).collect();
    if unmet.is_empty() {
        return Ok(());
    }
    let faults: Vec<String> = unmet.iter().filter_map(|it| it.fault()).collect();
    let packages: Vec<&str> = unmet.iter().flat_map(|it| it.packages).copied().collect();
    distribution_packages::install(&faults.join("; "), &packages)?;

    let faults: Vec<String> = unmet.iter().filter_map(|it| it.fault()).collect();
    if faults.is_empty() {
        return Ok(());
    }
    Err(Failure::Trouble(format!(
        "the distribution's packages don't do: {}; install newer ones by hand, and put the programs into PATH",
        faults.join("; ")
    )))
}

/// Whether a directory has a font, at any depth.
fn has_font(directory: &Path) -> bool {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|it| it.path()).any(|path| {
        let extension = path.extension().and_then(|it| it.to_str());
        path.is_dir() && has_font(&path) || matches!(extension, Some("ttf" | "otf" | "ttc" | "pfb"))
    })
}

impl Requirement {
    fn is_met(&self) -> bool {
        self.fault().is_none()
    }

    /// The reason why the tool on this machine won't do.
    fn fault(&self) -> Option<String> {
        let Requirement { name, least, .. } = self;
        match (self.find)() {
            None if *least == Version::ANY => Some(format!("{name} is missing")),
            None => Some(format!("{name} is missing, version {least} or later")),
            Some(found) if found < *least => {
                Some(format!("{name} is version {found}, and {least} or later is needed"))
            }
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_and_old_tools_are_faults() {
        let required =
            |find| Requirement { name: "Tool", least: Version::new(2, 1), find, packages: &[] };
        assert_eq!(required(|| Some(Version::new(2, 1))).fault(), None);
        let missing = "Tool is missing, version 2.1 or later";
        assert_eq!(required(|| None).fault().as_deref(), Some(missing));
        let old = "Tool is version 2.0, and 2.1 or later is needed";
        assert_eq!(required(|| Some(Version::new(2, 0))).fault().as_deref(), Some(old));
    }
}
