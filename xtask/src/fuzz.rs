//! `cargo xtask fuzz`: libFuzzer fuzzes the parsers of text from outside.
//!
//! The program in `fuzz/` has a target for each parser. The stable compiler builds it: the flags below add counters of
//! code coverage, and libFuzzer needs nothing else. Sanitizers would need a nightly compiler; they find misuse of memory,
//! and gatehouse has no `unsafe` code.

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

/// Options of `cargo xtask fuzz`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FuzzOptions {
    /// The target to run; `None` runs every target.
    pub(crate) target: Option<String>,
    /// Duration of each target's run.
    pub(crate) minutes: u32,
}

/// Directory with a directory of seeds for each target. A test of `gatehouse-testing` checks that each target has one.
const SEEDS: &str = "fuzz/seeds";

/// Directory of inputs that reach new code, for the next run on this machine.
const CORPUS: &str = "fuzz/corpus";

/// Directory of inputs that break a target.
const ARTIFACTS: &str = "fuzz/artifacts";

/// Further directories of seeds, each with its target.
const FURTHER_SEEDS: [(&str, &str); 2] =
    [("manifest", "connectors"), ("recording", "connectors/recordings")];

/// Compiler flags that add counters of edges and comparisons, and the crates' modules `fuzzing`.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Cllvm-args=-simplifycfg-branch-fold-threshold=0";

/// Memory limit of a target: a parser that needs more has a fault.
const MEMORY_MAX: &str = "-rss_limit_mb=1024";

/// Time limit for one input: a parser that needs longer has a fault.
const SECONDS_MAX: &str = "-timeout=10";

/// Runs one target or all, one on each core at a time; fails if a target found something.
pub(crate) fn run(options: &FuzzOptions) -> Result<(), Failure> {
    let known = targets()?;
    let chosen = match &options.target {
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
    let (n_chosen, minutes) = (chosen.len(), options.minutes);
    eprintln!("xtask: {n_chosen} targets, {minutes} min each, {n_at_once} at a time");
    let waiting = Mutex::new(chosen.into_iter());
    let failed = Mutex::new(Vec::new());
    let work = || {
        // In a block, so that the lock is released before the target runs.
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
        "{} of {n_chosen} targets found something: {}; docs/development.md tells what to do",
        failed.len(),
        failed.join(", ")
    )))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().expect("no thread panics while it holds the lock")
}

/// Names of all targets, sorted.
fn targets() -> Result<Vec<String>, Failure> {
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
    let host = host.ok_or_else(|| Failure::Trouble("rustc -vV prints no host".into()))?;
    let place = ["--manifest-path", "fuzz/Cargo.toml", "--target-dir", "fuzz/target"];
    // With `--target`, the flags are for the program alone, and not for build scripts.
    let build = [&["build", "--release", "--target", host], &place[..]].concat();
    copy_lock_file()?;
    cargo::run(&build, &[("RUSTFLAGS", OsStr::new(FLAGS))])?;
    let program = format!("fuzz/target/{host}/release/gatehouse-fuzz");
    Ok(cargo::workspace_root().join(program))
}

/// Copies the workspace's Cargo.lock to `fuzz/`, so that the tested dependencies are the released ones.
///
/// `fuzz/` is another workspace, and so needs its own lock file.
fn copy_lock_file() -> Result<(), Failure> {
    let root = cargo::workspace_root();
    let [source, copy] = ["Cargo.lock", "fuzz/Cargo.lock"].map(|it| root.join(it));
    let changed = |path: &Path| fs::metadata(path).and_then(|it| it.modified()).ok();
    if changed(&copy) > changed(&source) {
        return Ok(());
    }
    let troubled = |cause| Failure::Trouble(format!("{} can't be made: {cause}", copy.display()));
    fs::read(source).and_then(|lock| fs::write(&copy, lock)).map_err(troubled)
}

/// Runs a target until its time is over, or until it finds something. Its output goes to a log.
fn run_target(program: &Path, name: &str, minutes: u32) -> Result<Report, Failure> {
    let root = cargo::workspace_root();
    let (corpus, artifacts) = (format!("{CORPUS}/{name}"), format!("{ARTIFACTS}/{name}/"));
    cargo::make_directory(&corpus)?;
    cargo::make_directory(&artifacts)?;
    let log = format!("{artifacts}log");
    let troubled = |what: &str, cause| Failure::Trouble(format!("{name}: {what}: {cause}"));
    let log_file = File::create(root.join(&log)).map_err(|cause| troubled(&log, cause))?;
    let further = FURTHER_SEEDS.iter().filter(|(target, _)| *target == name);
    let mut command = Command::new(program);
    command
        // libFuzzer writes new inputs into the first directory; the others have seeds.
        .args([&corpus, &format!("{SEEDS}/{name}")])
        .args(further.map(|(_, seeds)| seeds))
        .args([MEMORY_MAX, SECONDS_MAX, "-print_final_stats=1"])
        .arg(format!("-max_total_time={}", u64::from(minutes) * 60))
        .arg(format!("-artifact_prefix={artifacts}"))
        .envs([("FUZZ_TARGET", name), ("RUST_BACKTRACE", "1")])
        .current_dir(&root)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log_file);
    let status: ExitStatus =
        command.status().map_err(|cause| troubled(&program.display().to_string(), cause))?;
    let output = fs::read(root.join(&log)).map_err(|cause| troubled(&log, cause))?;
    Ok(Report::read(&String::from_utf8_lossy(&output), status.success(), log))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seeds of a directory without a target would never be used.
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
