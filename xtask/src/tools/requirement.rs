//! Tools that chores need from the distribution, each with its least version and the packages that provide it.
//!
//! A chore names all its requirements before it begins. One call of apt-get installs every tool that is missing or too
//! old; a user who may not install gets one command for root.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::distribution_packages;
use super::program::{self, find_version, read_output};
use super::version::Version;
use crate::failure::Failure;
use crate::postgres::PostgresBinaries;

/// A tool that a chore needs.
#[derive(Debug)]
pub(crate) struct Requirement {
    /// The tool's name, for people.
    name: &'static str,
    /// The oldest version that the chore works with.
    least: Version,
    /// Finds the version on this machine; `None` if the tool is missing.
    find: fn() -> Option<Version>,
    /// The distribution's packages that provide the tool.
    packages: &'static [&'static str],
}

/// PostgreSQL's server.
pub(crate) const POSTGRES: Requirement = Requirement {
    name: "PostgreSQL's server",
    least: PostgresBinaries::LEAST_VERSION,
    find: || PostgresBinaries::find().map(|it| it.version()),
    packages: &["postgresql"],
};

/// PgBouncer, no older than that of Debian 12.
pub(crate) const PGBOUNCER: Requirement = Requirement {
    name: "PgBouncer",
    least: Version::new(1, 18),
    find: || find_version("pgbouncer"),
    packages: &["pgbouncer"],
};

/// The message broker NATS, with JetStream.
pub(crate) const NATS: Requirement = Requirement {
    name: "nats-server",
    least: Version::new(2, 9),
    find: || find_version("nats-server"),
    packages: &["nats-server"],
};

/// Gateways that ask gatehouse about devices.
pub(crate) const GATEWAYS: [&Requirement; 4] = [
    &Requirement {
        name: "nginx",
        least: Version::ANY,
        find: || program::find("nginx").map(|_| Version::ANY),
        packages: &["nginx-light"],
    },
    &Requirement {
        name: "Caddy",
        least: Version::new(2, 5),
        find: || Version::parse(&read_output(Command::new("caddy").arg("version"))?),
        packages: &["caddy"],
    },
    &Requirement {
        name: "FreeRADIUS with its module rest",
        least: Version::ANY,
        find: || {
            let module = Path::new("/usr/lib/freeradius/rlm_rest.so");
            program::find("freeradius").filter(|_| module.is_file()).map(|_| Version::ANY)
        },
        packages: &["freeradius", "freeradius-rest"],
    },
    &Requirement {
        name: "radclient",
        least: Version::ANY,
        find: || program::find("radclient").map(|_| Version::ANY),
        packages: &["freeradius-utils"],
    },
];

/// npm: version 7 is the first that reads the lock files. It depends on any Node.js; `node.rs` installs a newer one.
pub(crate) const NPM: Requirement = Requirement {
    name: "npm",
    least: Version::new(7, 0),
    find: || find_version("node").and(find_version("npm")),
    packages: &["nodejs", "npm"],
};

/// Python, with the module that makes virtual environments: Debian has it in another package.
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

/// Chromium, in the oldest version that shows the console.
pub(crate) const CHROMIUM: Requirement = Requirement {
    name: "Chromium",
    least: Version::new(123, 0),
    find: || {
        let chromium = find_chromium()?;
        Version::parse(&read_output(Command::new(chromium).args(["--no-sandbox", "--version"]))?)
    },
    packages: &["chromium"],
};

/// A font: without one, Chromium starts and shows nothing.
pub(crate) const FONT: Requirement = Requirement {
    name: "a font",
    least: Version::ANY,
    find: || has_font(Path::new("/usr/share/fonts")).then_some(Version::ANY),
    packages: &["fonts-dejavu-core"],
};

/// curl, for the commands in the README.
pub(crate) const CURL: Requirement = Requirement {
    name: "curl",
    least: Version::ANY,
    find: || find_version("curl"),
    packages: &["curl"],
};

/// Certificates of public authorities, for npm and pip.
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

/// Tools that hash passwords, whose hashes gatehouse checks.
pub(crate) const HASH_TOOLS: [&Requirement; 6] = [
    &Requirement {
        name: "htpasswd",
        least: Version::ANY,
        find: || program::find("htpasswd").map(|_| Version::ANY),
        packages: &["apache2-utils"],
    },
    &Requirement {
        name: "mosquitto_passwd",
        least: Version::ANY,
        find: || program::find("mosquitto_passwd").map(|_| Version::ANY),
        packages: &["mosquitto"],
    },
    &Requirement {
        name: "mkpasswd",
        least: Version::ANY,
        find: || program::find("mkpasswd").map(|_| Version::ANY),
        packages: &["whois"],
    },
    &Requirement {
        name: "openssl",
        least: Version::ANY,
        find: || program::find("openssl").map(|_| Version::ANY),
        packages: &["openssl"],
    },
    &Requirement {
        name: "argon2",
        least: Version::ANY,
        find: || program::find("argon2").map(|_| Version::ANY),
        packages: &["argon2"],
    },
    &Requirement {
        name: "Django and passlib for the distribution's Python",
        least: Version::ANY,
        find: || {
            let mut python = Command::new("/usr/bin/python3");
            let found = python.args(["-c", "import django, passlib"]).output().ok()?;
            found.status.success().then_some(Version::ANY)
        },
        packages: &["python3-django", "python3-passlib"],
    },
];

/// Patroni, with its module for etcd: Debian has it in another package.
pub(crate) const PATRONI: Requirement = Requirement {
    name: "Patroni",
    least: Version::new(2, 1),
    find: || find_version("patroni"),
    packages: &["patroni", "python3-etcd"],
};

/// etcd, for Patroni.
pub(crate) const ETCD: Requirement = Requirement {
    name: "etcd",
    least: Version::new(3, 4),
    find: || find_version("etcd"),
    packages: &["etcd-server"],
};

/// HAProxy, in front of the cluster.
pub(crate) const HAPROXY: Requirement = Requirement {
    name: "HAProxy",
    least: Version::new(2, 4),
    // HAProxy has no `--version`.
    find: || Version::parse(&read_output(Command::new(program::find("haproxy")?).arg("-v"))?),
    packages: &["haproxy"],
};

/// ps, with which the failover test finds a server's child processes.
pub(crate) const PROCPS: Requirement = Requirement {
    name: "ps",
    least: Version::ANY,
    find: || find_version("ps"),
    packages: &["procps"],
};

/// debootstrap, which makes a bare Debian.
pub(crate) const DEBOOTSTRAP: Requirement = Requirement {
    name: "debootstrap",
    least: Version::ANY,
    find: || find_version("debootstrap"),
    packages: &["debootstrap", "debian-archive-keyring"],
};

/// C++ compiler, for libFuzzer.
pub(crate) const CXX: Requirement = Requirement {
    name: "a C++ compiler",
    least: Version::ANY,
    find: || find_version("c++"),
    packages: &["g++"],
};

/// git, for clones and lists of tracked files.
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

/// Installs each of the `requirements` that is missing or too old.
pub(crate) fn ensure(requirements: &[&Requirement]) -> Result<(), Failure> {
    if let Some(named) = env::var_os("CHROMIUM").filter(|_| (CHROMIUM.find)().is_none()) {
        return Err(Failure::Trouble(format!(
            "CHROMIUM names {}, which is no Chromium; correct the variable, or unset it to use the distribution's",
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
        "the distribution's packages are too old: {}; install newer ones by hand, and put the programs into PATH",
        faults.join("; ")
    )))
}

/// Whether there is a font below a directory.
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

    /// The reason why the requirement is not met; `None` if it is.
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
