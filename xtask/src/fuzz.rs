//! `cargo xtask fuzz`: libFuzzer tries to break the readers of text.
//!
//! The program in `fuzz/` has a target for each reader, and this runs some of them for a while, as many at a time as there are
//! cores. It is built by the usual compiler: the flags below have the code count where it goes, which is all that libFuzzer
//! needs, and no nightly has to be installed. Sanitizers would need one; they look for misuse of memory, and gatehouse has
//! no `unsafe` code.

mod report;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::thread;

use self::report::Report;
use crate::cargo;
use crate::failure::Failure;
use crate::tools::program::read_output;
use crate::tools::requirement::{self, CXX};

/// What is to be run, and for how long.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fuzz {
    /// The target that is meant; all of them where there is none.
    pub(crate) target: Option<String>,
    /// How long each target is run.
    pub(crate) minutes: u32,
}

/// Where each target has a directory with its seeds. A directory is a target: `gatehouse-testing` has every target have one.
const SEEDS: &str = "fuzz/seeds";

/// What a target finds worth trying again, for the next run on this machine.
const CORPUS: &str = "fuzz/corpus";

/// What breaks a target.
const ARTIFACTS: &str = "fuzz/artifacts";

/// Directories of the project whose files are seeds, too.
const FURTHER_SEEDS: [(&str, &str); 2] =
    [("manifest", "connectors"), ("recording", "connectors/recordings")];

/// Has the compiler count which edges of the code are taken and what is compared, and tells the crates that this is for a
/// fuzzer: their modules `fuzzing` are there then.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Cllvm-args=-simplifycfg-branch-fold-threshold=0";

/// Most memory of a target, in MiB, and most seconds for one text: a reader that needs more has a fault.
const MEMORY_MAX: &str = "-rss_limit_mb=1024";
const SECONDS_MAX: &str = "-timeout=10";

/// Runs targets, and fails if one of them found something.
pub(crate) fn run(fuzz: &Fuzz) -> Result<(), Failure> {
    let known = targets()?;
    let chosen = match &fuzz.target {
        None => known,
        Some(name) if known.contains(name) => vec![name.clone()],
        Some(name) => {
            let known = known.join(", ");
            return Err(Failure::Usage(format!("there is no target `{name}`; there are {known}")));
        }
    };
    requirement::ensure(&[&CXX])?;
    let program = build()?;
    let n_at_once = thread::available_parallelism().map_or(1, NonZero::get);
    let (n_chosen, minutes) = (chosen.len(), fuzz.minutes);
    eprintln!("xtask: {n_chosen} targets, {minutes} min each, {n_at_once} at a time");
    let waiting = Mutex::new(chosen.into_iter());
    let failed = Mutex::new(Vec::new());
    let work = || {
        // In a statement of its own, so that the next one is let go of while this one runs.
        while let Some(name) = { lock(&waiting).next() } {
            let has_passed = match run_target(&program, &name, minutes) {
                Ok(report) => {
                    println!("{}", report.line(&name));
                    report.has_passed()
                }
                Err(failure) => {
                    failure.print();
                    false
                }
            };
            if !has_passed {
                lock(&failed).push(name);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..n_at_once {
            scope.spawn(work);
        }
    });
    let failed = lock(&failed);
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::Trouble(format!(
        "{} of {n_chosen} targets found something: {}; docs/development.md says what to do with it",
        failed.len(),
        failed.join(", ")
    )))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics while holding it")
}

/// The targets there are, by name.
pub(crate) fn targets() -> Result<Vec<String>, Failure> {
    let path = cargo::workspace_root().join(SEEDS);
    let unreadable = |cause| Failure::Trouble(format!("{} can't be read: {cause}", path.display()));
    let mut names = Vec::new();
    for entry in fs::read_dir(&path).map_err(unreadable)? {
        names.push(entry.map_err(unreadable)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Builds the program that has all targets.
fn build() -> Result<PathBuf, Failure> {
    let version = read_output(Command::new("rustc").arg("-vV")).unwrap_or_default();
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let host =
        host.ok_or_else(|| Failure::Trouble("rustc doesn't say what it builds for".into()))?;
    let place = ["--manifest-path", "fuzz/Cargo.toml", "--target-dir", "fuzz/target"];
    // With a target, the flags are for the program alone, and not for what runs while it is built.
    let build = [&["build", "--release", "--target", host], &place[..]].concat();
    take_versions()?;
    cargo::run(&build, &[("RUSTFLAGS", OsStr::new(FLAGS))])?;
    let program = format!("fuzz/target/{host}/release/gatehouse-fuzz");
    Ok(cargo::workspace_root().join(program))
}

/// Has the program built of the same versions as the workspace. `fuzz/` has a Cargo.lock of its own because it is a workspace of
/// its own; it is made of the other one, so that what is tried is what is shipped, and deny.toml holds for it.
fn take_versions() -> Result<(), Failure> {
    let root = cargo::workspace_root();
    let [workspace, own] = ["Cargo.lock", "fuzz/Cargo.lock"].map(|it| root.join(it));
    let changed = |path: &Path| fs::metadata(path).and_then(|it| it.modified()).ok();
    if changed(&own) > changed(&workspace) {
        return Ok(());
    }
    let troubled = |cause| Failure::Trouble(format!("{} can't be made: {cause}", own.display()));
    fs::read(workspace).and_then(|lock| fs::write(&own, lock)).map_err(troubled)
}

/// Runs one target to the end of its time, or until it finds something. All that it says is in a file.
fn run_target(program: &Path, name: &str, minutes: u32) -> Result<Report, Failure> {
    let root = cargo::workspace_root();
    let (corpus, artifacts) = (format!("{CORPUS}/{name}"), format!("{ARTIFACTS}/{name}/"));
    cargo::make_directory(&corpus)?;
    cargo::make_directory(&artifacts)?;
    let log = format!("{artifacts}log");
    let troubled = |what: &str, cause| Failure::Trouble(format!("{name}: {what}: {cause}"));
    let output = File::create(root.join(&log)).map_err(|cause| troubled(&log, cause))?;
    let further = FURTHER_SEEDS.iter().filter(|(target, _)| *target == name);
    let mut command = Command::new(program);
    command
        // What it finds out is kept in the first directory, and the others are where it starts from.
        .args([&corpus, &format!("{SEEDS}/{name}")])
        .args(further.map(|(_, seeds)| seeds))
        .args([MEMORY_MAX, SECONDS_MAX, "-print_final_stats=1"])
        .arg(format!("-max_total_time={}", u64::from(minutes) * 60))
        .arg(format!("-artifact_prefix={artifacts}"))
        .envs([("FUZZ_TARGET", name), ("RUST_BACKTRACE", "1")])
        .current_dir(&root)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(output);
    let status: ExitStatus =
        command.status().map_err(|cause| troubled(&program.display().to_string(), cause))?;
    let said = fs::read(root.join(&log)).map_err(|cause| troubled(&log, cause))?;
    Ok(Report::read(&String::from_utf8_lossy(&said), status.success(), log))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise its seeds would be given to nobody.
    #[test]
    fn every_directory_of_seeds_is_a_target_of_a_crate() {
        let crates = cargo::workspace_root().join("crates").read_dir().unwrap();
        let modules = crates.map(|it| it.unwrap().path().join("src/fuzzing.rs"));
        let source: String = modules.filter_map(|it| fs::read_to_string(it).ok()).collect();
        for name in targets().unwrap() {
            assert!(source.contains(&format!("(\"{name}\", ")), "fuzz/seeds/{name}");
        }
    }
}
