//! Compares Cargo.lock with deny.toml: sources of packages, and crates in more than one version.
//!
//! The check needs no tool and no network, so every `cargo xtask lint` runs it. cargo-deny checks more, such as licences,
//! but has to be compiled first: see `cargo_deny.rs`.

use std::fs;

use crate::cargo;
use crate::failure::Failure;

/// The only allowed source of packages from outside the workspace, as Cargo.lock names it.
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Checks the workspace's Cargo.lock by its deny.toml; reports every fault at once.
pub(crate) fn check() -> Result<(), Failure> {
    let read = |name: &str| {
        fs::read_to_string(cargo::workspace_root().join(name))
            .map_err(|cause| Failure::Trouble(format!("{name} can't be read: {cause}")))
    };
    let (lock, deny) = (read("Cargo.lock")?, read("deny.toml")?);
    let packages = parse_lock(&lock);
    let explained = parse_explained(&deny).map_err(Failure::Trouble)?;
    let mut faults = find_foreign_sources(&packages);
    faults.extend(find_unexplained(&packages, &explained));
    faults.extend(find_stale(&packages, &explained));
    if packages.is_empty() {
        faults
            .push("Cargo.lock has no packages, so its format has changed; adapt xtask".to_owned());
    }
    if faults.is_empty() { Ok(()) } else { Err(Failure::Trouble(faults.join("\nxtask: "))) }
}

/// A package in Cargo.lock. The workspace's own packages have no source and no checksum.
#[derive(Clone, Debug, Default)]
struct Package<'text> {
    name: &'text str,
    version: &'text str,
    source: Option<&'text str>,
    checksum: Option<&'text str>,
}

/// An entry of `bans.skip`: versions of a crate that are allowed next to another version.
#[derive(Debug, PartialEq, Eq)]
struct ExplainedVersion<'text> {
    name: &'text str,
    /// The first numbers of the version, as many as make it compatible: `2`, `0.9`.
    version: &'text str,
}

impl ExplainedVersion<'_> {
    /// Whether the entry allows this package, by the rules of cargo-deny.
    fn covers(&self, package: &Package<'_>) -> bool {
        let rest = package.version.strip_prefix(self.version);
        self.name == package.name && rest.is_some_and(|it| it.is_empty() || it.starts_with('.'))
    }
}

fn parse_lock(text: &str) -> Vec<Package<'_>> {
    text.split("[[package]]\n").skip(1).map(parse_package).collect()
}

fn parse_package(block: &str) -> Package<'_> {
    let mut package = Package::default();
    for line in block.lines().take_while(|line| !line.is_empty()) {
        let Some((key, value)) = line.split_once(" = ") else { continue };
        let value = value.trim_matches('"');
        match key {
            "name" => package.name = value,
            "version" => package.version = value,
            "source" => package.source = Some(value),
            "checksum" => package.checksum = Some(value),
            _ => {}
        }
    }
    package
}

/// Reads the list `skip` of deny.toml, which has an entry on each line.
fn parse_explained(text: &str) -> Result<Vec<ExplainedVersion<'_>>, String> {
    let mut lines = text.lines();
    if !lines.any(|line| line == "skip = [") {
        return Err("deny.toml has no line `skip = [`".to_owned());
    }
    let entries = lines.map(str::trim).take_while(|line| *line != "]");
    entries.filter(|line| !line.is_empty() && !line.starts_with('#')).map(parse_entry).collect()
}

fn parse_entry(line: &str) -> Result<ExplainedVersion<'_>, String> {
    let parse = || {
        let (entry, rest) = line.strip_prefix("{ crate = \"")?.split_once("\", reason = \"")?;
        let (name, version) = entry.split_once('@')?;
        let reason = rest.strip_suffix(',').unwrap_or(rest).strip_suffix("\" }")?;
        (!reason.trim().is_empty()).then_some(ExplainedVersion { name, version })
    };
    parse().ok_or_else(|| {
        format!(
            "deny.toml: write each entry of `skip` as `{{ crate = \"name@version\", reason = \"why\" }},` \
             instead of `{line}`"
        )
    })
}

fn find_foreign_sources(packages: &[Package<'_>]) -> Vec<String> {
    packages.iter().filter_map(find_source_fault).collect()
}

fn find_source_fault(package: &Package<'_>) -> Option<String> {
    let Package { name, version, source, checksum } = *package;
    match (source, checksum) {
        (None, _) | (Some(CRATES_IO), Some(_)) => None,
        (Some(CRATES_IO), None) => Some(format!(
            "Cargo.lock has no checksum of {name} {version}; let cargo write its entry anew"
        )),
        (Some(other), _) => {
            Some(format!("{name} {version} comes from {other}; take a version from crates.io"))
        }
    }
}

/// Finds crates in several versions of which more than one has no entry in `bans.skip`.
fn find_unexplained(packages: &[Package<'_>], explained: &[ExplainedVersion<'_>]) -> Vec<String> {
    let mut faults = Vec::new();
    // Cargo.lock is sorted, so the versions of a crate follow each other.
    for versions in packages.chunk_by(|one, next| one.name == next.name) {
        let is_unexplained = |it: &&Package<'_>| !explained.iter().any(|entry| entry.covers(it));
        let unexplained: Vec<&str> =
            versions.iter().filter(is_unexplained).map(|it| it.version).collect();
        if let [oldest, _, ..] = unexplained[..] {
            let name = versions[0].name;
            faults.push(format!(
                "Cargo.lock has {name} in versions {} without a reason; see what needs {oldest} with `cargo tree \
                 --workspace --target all --invert {name}@{oldest}`, then do without it, or give the reason in \
                 `bans.skip` of deny.toml",
                unexplained.join(" and "),
            ));
        }
    }
    faults
}

/// Finds entries of `bans.skip` without a package, or whose package has no other version.
fn find_stale(packages: &[Package<'_>], explained: &[ExplainedVersion<'_>]) -> Vec<String> {
    let is_needed = |entry: &&ExplainedVersion<'_>| {
        let is_left = |it: &Package<'_>| !explained.iter().any(|other| other.covers(it));
        let is_other = |it: &Package<'_>| it.name == entry.name && is_left(it);
        packages.iter().any(|it| entry.covers(it)) && packages.iter().any(is_other)
    };
    let stale = explained.iter().filter(|entry| !is_needed(entry));
    stale
        .map(|ExplainedVersion { name, version }| {
            format!(
                "deny.toml explains {name}@{version}, but Cargo.lock doesn't have it beside another version; \
                 remove the entry from `bans.skip`"
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SKIP: &str = r#"
[bans]
skip = [
    # A comment, and a blank line.

    { crate = "rand@0.8", reason = "an old client needs it" },
    { crate = "rand@0.9", reason = "a new client needs it" },
]

[sources]
"#;

    fn package<'text>(name: &'text str, version: &'text str) -> Package<'text> {
        Package { name, version, source: Some(CRATES_IO), checksum: Some("5a15") }
    }

    #[test]
    fn cargo_lock_agrees_with_deny_toml() {
        check().unwrap();
    }

    #[test]
    fn packages_are_read_as_cargo_writes_them() {
        let lock = "# A comment.\nversion = 4\n\n[[package]]\nname = \"rand\"\nversion = \"0.9.5\"\n\
                    source = \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \"5a15\"\n\
                    dependencies = [\n \"rand_core\",\n]\n\n[[package]]\nname = \"xtask\"\nversion = \"0.1.0\"\n\n\
                    [[patch.unused]]\nname = \"other\"\n";
        let packages = parse_lock(lock);
        let [rand, xtask] = &packages[..] else { panic!("{packages:?}") };
        assert_eq!((rand.name, rand.version, rand.checksum), ("rand", "0.9.5", Some("5a15")));
        assert_eq!((xtask.name, xtask.source, xtask.checksum), ("xtask", None, None));
        assert_eq!(find_foreign_sources(&packages), [""; 0]);
    }

    #[test]
    fn sources_besides_crates_io_and_missing_checksums_are_faults() {
        let from_git = Package {
            source: Some("git+https://example.com/rand#5a15"),
            ..package("rand", "0.9.5")
        };
        let unchecked = Package { checksum: None, ..package("rand", "0.9.5") };
        let [git, checksum] = &find_foreign_sources(&[from_git, unchecked])[..] else { panic!() };
        assert!(git.contains("rand 0.9.5 comes from git+https://example.com"), "{git}");
        assert!(checksum.contains("no checksum of rand 0.9.5"), "{checksum}");
    }

    #[test]
    fn a_second_version_needs_a_reason() {
        let explained = parse_explained(SKIP).unwrap();
        let mut packages =
            [("rand", "0.8.6"), ("rand", "0.9.5"), ("rand", "0.10.3"), ("syn", "3.0.9")]
                .map(|(name, version)| package(name, version))
                .to_vec();
        assert_eq!(find_unexplained(&packages, &explained), [""; 0]);
        assert_eq!(find_stale(&packages, &explained), [""; 0]);

        packages.insert(3, package("syn", "2.0.119"));
        let [fault] = &find_unexplained(&packages, &explained)[..] else { panic!() };
        assert!(fault.contains("syn in versions 2.0.119 and 3.0.9 without a reason"), "{fault}");
        assert!(fault.contains("--invert syn@2.0.119`"), "{fault}");
    }

    #[test]
    fn a_reason_for_a_version_that_is_gone_is_a_fault() {
        let explained = parse_explained(SKIP).unwrap();
        let newest_two = [package("rand", "0.9.5"), package("rand", "0.10.3")];
        let [gone] = &find_stale(&newest_two, &explained)[..] else { panic!() };
        assert!(gone.contains("explains rand@0.8, but"), "{gone}");
        // There is no version without an entry.
        let both_explained = [package("rand", "0.8.6"), package("rand", "0.9.5")];
        assert_eq!(find_stale(&both_explained, &explained).len(), 2);
    }

    #[test]
    fn an_entry_covers_compatible_versions_alone() {
        let entry = ExplainedVersion { name: "wasi", version: "0.1" };
        assert!(entry.covers(&package("wasi", "0.1.7+wasi-0.2.4")));
        for (name, version) in [("wasi", "0.14.7"), ("wasi", "1.0.1"), ("wasite", "0.1.0")] {
            assert!(!entry.covers(&package(name, version)), "{name} {version}");
        }
    }

    #[test]
    fn an_entry_without_a_reason_is_refused() {
        for entry in [
            r#"{ crate = "rand@0.8" },"#,
            r#"{ crate = "rand@0.8", reason = "" },"#,
            r#"{ crate = "rand", reason = "every version" },"#,
            r#""rand@0.8","#,
        ] {
            let text = format!("skip = [\n    {entry}\n]\n");
            let fault = parse_explained(&text).unwrap_err();
            assert!(fault.contains(entry), "{fault}");
        }
        assert!(parse_explained("[bans]\n").is_err_and(|it| it.contains("no line `skip = [`")));
    }
}
