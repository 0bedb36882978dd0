//! `cargo xtask`: the project's chores, for people and for continuous integration.
//!
//! This file has the steps of each chore; the other files have the details of each step. xtask uses only the standard
//! library, so that it builds in a moment.

mod api;
mod cargo;
mod command_line;
mod console;
mod dependencies;
mod failover;
mod failure;
mod fresh;
mod fuzz;
mod mounts;
mod postgres;
mod reliability;
mod suites;
mod supervisor;
mod tidy;
mod tools;

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use api::{ApiTools, TestedStore};
use command_line::{Chore, USAGE};
use dependencies::cargo_deny::{AdvisoryDatabase, CargoDeny};
use dependencies::lock_file;
use failure::Failure;
use postgres::{Commits, PostgresBinaries, ThrowawayPgBouncer, ThrowawayPostgres};
use suites::Suites;
use tools::node::Node;
use tools::requirement::{
    self, CERTIFICATES, CHROMIUM, CURL, ETCD, FONT, GATEWAYS, GIT, HAPROXY, HASH_TOOLS, NATS, NPM,
    PATRONI, PGBOUNCER, POSTGRES, PROCPS, PYTHON,
};
use tools::{issuer, subscribers};

fn main() -> ExitCode {
    let outcome = command_line::parse(std::env::args_os().skip(1)).and_then(do_chore);
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            failure.exit_code()
        }
    }
}

fn do_chore(chore: Chore) -> Result<(), Failure> {
    match chore {
        Chore::Help => {
            print!("{USAGE}");
            Ok(())
        }
        Chore::Test { long, cargo_arguments } => test(long, &cargo_arguments),
        Chore::TestApi => test_api(),
        Chore::TestConsole => test_console(),
        Chore::TestFailover => test_failover(),
        Chore::Bench { with_postgres, arguments } => bench(with_postgres, &arguments),
        Chore::Fuzz(fuzz) => fuzz::run(&fuzz),
        Chore::Postgres => run_postgres(),
        Chore::Screenshots => take_screenshots(),
        Chore::Fresh(fresh) => fresh::run(&fresh),
        Chore::Lint => lint(),
        Chore::Tidy => tidy::check(&tidy::RULES),
        Chore::Deny { advisories } => deny(advisories.as_deref()),
        Chore::Ci => {
            let mut suites = Suites::default();
            suites.run("lint", lint);
            suites.run("test", || test(false, &[]));
            suites.finish()
        }
    }
}

fn test(long: bool, cargo_arguments: &[String]) -> Result<(), Failure> {
    let for_rust_tests = [&CERTIFICATES, &POSTGRES, &PGBOUNCER, &NATS, &NPM, &PYTHON, &CURL];
    let for_rust_tests = [&for_rust_tests[..], &HASH_TOOLS, &GATEWAYS].concat();
    if cargo_arguments.is_empty() {
        // All at once, so that a user who may not install gets one command for all suites.
        let for_other_suites = [&CHROMIUM, &FONT];
        requirement::ensure(&[&for_rust_tests[..], &for_other_suites].concat())?;
    } else {
        requirement::ensure(&for_rust_tests)?;
    }
    // Without Node.js, the issuer or the subscribers, some tests fail, and the others still run.
    let node = Node::find_or_install().inspect_err(Failure::print);
    let node = node.unwrap_or_else(|_| Node::of_machine());
    let issuer = issuer::find_or_install().inspect_err(Failure::print).ok();
    let subscribers = subscribers::find_or_install().inspect_err(Failure::print).ok();

    let binaries = find_postgres()?;
    let postgres = ThrowawayPostgres::start(&binaries, Commits::Unflushed)?;
    let pooler = ThrowawayPgBouncer::start(postgres.address())?;
    let (path, url, pooled_url) = (node.path(), postgres.url(), pooler.url());
    let mut environment = vec![
        ("PATH", path.as_os_str()),
        ("TEST_POSTGRES_URL", OsStr::new(&url)),
        ("TEST_PGBOUNCER_URL", OsStr::new(&pooled_url)),
    ];
    let record = reliability::begin_record(Path::new("target"))?;
    let record = std::path::absolute(&record).unwrap_or(record);
    environment.push(("TEST_RECORD", record.as_os_str()));
    environment.extend(issuer.iter().map(|issuer| ("TEST_ISSUER", issuer.as_os_str())));
    environment.extend(subscribers.iter().map(|it| ("TEST_SUBSCRIBERS", it.as_os_str())));
    let release_binary;
    if long {
        release_binary = build_release()?;
        environment.push(("TEST_LONG", OsStr::new("1")));
        environment.push(("TEST_GATEHOUSE_BINARY", release_binary.as_os_str()));
    }
    if !cargo_arguments.is_empty() {
        let given: Vec<&str> = cargo_arguments.iter().map(String::as_str).collect();
        // `--workspace` would overrule a package that is named.
        let names_package = given.iter().any(|it| *it == "-p" || it.starts_with("--package"));
        let scope: &[&str] = if names_package { &[] } else { &["--workspace"] };
        return cargo::run(&[&["test"], scope, &given[..]].concat(), &environment);
    }
    // Without a program there is nothing to test, so only a failed build ends the chore.
    cargo::run(&["test", "--workspace", "--no-run"], &environment)?;
    let binary = cargo::find_binary("debug", "gatehouse")?;
    let rust_tests = ["test", "--workspace", "--no-fail-fast"];
    let end_to_end = [&rust_tests[..], &["--test", "e2e"]].concat();
    let unit_tests = [&rust_tests[..], &["--lib", "--bins"]].concat();
    let doc_tests = [&rust_tests[..], &["--doc"]].concat();
    let mut suites = Suites::default();
    suites.run_both(
        ("end-to-end tests", || cargo::run(&end_to_end, &environment)),
        ("unit tests, on both stores", || cargo::run_buffered(&unit_tests, &environment)),
    );
    suites.run("examples in the documentation", || cargo::run(&doc_tests, &environment));
    suites.run("the API by its document", || test_api_with(&node, &binary, &url));
    suites.run("the console in a browser", || console::test(&node, &binary).map(drop));
    if long {
        test_faults(&mut suites, &environment);
    }
    suites.finish()?;
    if long {
        reliability::write_document(&record)?;
    }
    let version = binaries.version();
    eprintln!("xtask: every test has passed, on SQLite and on PostgreSQL {version}");
    Ok(())
}

/// Tests faults of real devices, if this machine can mount file systems.
///
/// No other test may run at the same time: one of these tests makes PostgreSQL wait for a standby.
fn test_faults(suites: &mut Suites, environment: &[(&str, &OsStr)]) {
    if let Err(why) = mounts::check() {
        eprintln!("xtask: not checked: faults of real devices, because {why}");
        return;
    }
    let one_by_one = ["--", "--test-threads=1", "--nocapture"];
    let faults =
        [&["test", "--package", "gatehouse", "--test", "faults"], &one_by_one[..]].concat();
    suites.run("faults of real devices", || cargo::run(&faults, environment));
}

fn test_api() -> Result<(), Failure> {
    requirement::ensure(&[&CERTIFICATES, &POSTGRES, &NPM, &PYTHON])?;
    let node = Node::find_or_install()?;
    let postgres = ThrowawayPostgres::start(&find_postgres()?, Commits::Unflushed)?;
    test_api_with(&node, &build_debug()?, &postgres.url())
}

/// Tests the API on both stores at the same time, because a server and its tester wait for each other.
fn test_api_with(node: &Node, binary: &Path, postgres_url: &str) -> Result<(), Failure> {
    let tools = ApiTools::find_or_install()?;
    let test_on = |store| api::test(&tools, node, binary, store);
    thread::scope(|scope| {
        let on_postgres = scope.spawn(|| test_on(TestedStore::Postgres { url: postgres_url }));
        let on_sqlite = test_on(TestedStore::Sqlite);
        let on_postgres = on_postgres.join().expect("a test of the API returns its failure");
        match (on_sqlite, on_postgres) {
            (Err(on_sqlite), Err(on_postgres)) => {
                on_sqlite.print();
                Err(on_postgres)
            }
            (on_sqlite, on_postgres) => on_sqlite.and(on_postgres),
        }
    })
}

fn test_console() -> Result<(), Failure> {
    requirement::ensure(&[&CERTIFICATES, &NPM, &CHROMIUM, &FONT])?;
    console::test(&Node::find_or_install()?, &build_debug()?).map(drop)
}

fn take_screenshots() -> Result<(), Failure> {
    requirement::ensure(&[&CERTIFICATES, &NPM, &CHROMIUM, &FONT])?;
    console::take_screenshots(&Node::find_or_install()?, &build_debug()?)
}

fn test_failover() -> Result<(), Failure> {
    requirement::ensure(&[&POSTGRES, &PATRONI, &ETCD, &HAPROXY, &PROCPS])?;
    failover::test(&build_release()?, &find_postgres()?)
}

/// Finds PostgreSQL's programs. Needs [`POSTGRES`].
fn find_postgres() -> Result<PostgresBinaries, Failure> {
    let found = PostgresBinaries::find();
    found.ok_or_else(|| Failure::Trouble("PostgreSQL's server is not on this machine".to_owned()))
}

/// Builds gatehouse in the debug profile, as `cargo test` does; returns the binary's path.
fn build_debug() -> Result<PathBuf, Failure> {
    cargo::run(&["build", "--package", "gatehouse"], &[])?;
    cargo::find_binary("debug", "gatehouse")
}

/// Builds gatehouse in the release profile, for long tests; returns the binary's path.
///
/// Shorter tests use the debug build, which `cargo test` makes anyway, and which checks for overflow.
fn build_release() -> Result<PathBuf, Failure> {
    cargo::run(&["build", "--release", "--package", "gatehouse"], &[])?;
    cargo::find_binary("release", "gatehouse")
}

fn bench(with_postgres: bool, arguments: &[String]) -> Result<(), Failure> {
    // The bench starts the server binary that is next to its own.
    let packages = ["--package", "gatehouse", "--package", "gatehouse-bench"];
    cargo::run(&[&["build", "--release"], &packages[..]].concat(), &[])?;

    let postgres = if with_postgres {
        requirement::ensure(&[&POSTGRES])?;
        Some(ThrowawayPostgres::start(&find_postgres()?, Commits::Flushed)?)
    } else {
        None
    };
    let url = postgres.as_ref().map(ThrowawayPostgres::url);
    let environment = url.as_ref().map(|url| ("BENCH_POSTGRES_URL", OsStr::new(url)));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    cargo::run_built("release", "gatehouse-bench", &arguments, environment.as_slice())
}

fn run_postgres() -> Result<(), Failure> {
    let for_postgres = [&CERTIFICATES, &POSTGRES, &PGBOUNCER, &NATS, &NPM, &PYTHON];
    requirement::ensure(&[&for_postgres[..], &HASH_TOOLS].concat())?;
    let node = Node::find_or_install()?;
    let postgres = ThrowawayPostgres::start(&find_postgres()?, Commits::Unflushed)?;
    let pooler = ThrowawayPgBouncer::start(postgres.address())?;
    println!("export TEST_POSTGRES_URL={}", postgres.url());
    println!("export TEST_PGBOUNCER_URL={}", pooler.url());
    if let Some(directory) = node.directory() {
        println!("export PATH='{}':\"$PATH\"", directory.display());
    }
    println!("export TEST_ISSUER={}", issuer::find_or_install()?.display());
    println!("export TEST_SUBSCRIBERS={}", subscribers::find_or_install()?.display());
    eprintln!("xtask: PostgreSQL stays until Enter, end of input or Ctrl-C");
    // A line, the end of input and an error all mean: stop.
    let _ = io::stdin().read_line(&mut String::new());
    Ok(())
}

fn lint() -> Result<(), Failure> {
    let mut suites = Suites::default();
    suites.run("tidy rules", || tidy::check(&tidy::RULES));
    suites.run("formatting", || cargo::run(&["fmt", "--all", "--", "--check"], &[]));
    // `--all-targets` leaves these two out, because only their own chores run them.
    let named_targets = ["--test", "failover", "--test", "faults"];
    let everything = [&["clippy", "--workspace", "--all-targets"], &named_targets[..]].concat();
    let clippy = [&everything[..], &["--", "-D", "warnings"]].concat();
    suites.run("clippy", || cargo::run(&clippy, &[]));
    let doc = ["doc", "--workspace", "--no-deps", "--document-private-items"];
    let deny_warnings = [("RUSTDOCFLAGS", OsStr::new("-D warnings"))];
    suites.run("documentation", || cargo::run(&doc, &deny_warnings));
    suites.run("the console's source", || {
        requirement::ensure(&[&CERTIFICATES, &NPM])?;
        console::lint(&Node::find_or_install()?)
    });
    suites.run(LOCK_SUITE, lock_file::check);
    let not_checked = match CargoDeny::find() {
        Some(cargo_deny) => {
            suites.run(DENY_SUITE, || cargo_deny.check());
            "advisories"
        }
        None => "licences, forbidden crates, wildcards and advisories",
    };
    eprintln!("xtask: not checked: {not_checked} of dependencies; `cargo xtask deny` checks them");
    suites.finish()
}

const LOCK_SUITE: &str = "Cargo.lock by deny.toml";
const DENY_SUITE: &str = "licences, versions and sources of dependencies";

fn deny(clone: Option<&Path>) -> Result<(), Failure> {
    requirement::ensure(&[&CERTIFICATES, &GIT])?;
    let database = match clone {
        Some(clone) => AdvisoryDatabase::in_clone(clone)?,
        None => AdvisoryDatabase::of_rustsec(),
    };
    let cargo_deny = CargoDeny::find_or_install()?;
    let mut suites = Suites::default();
    suites.run(LOCK_SUITE, lock_file::check);
    suites.run(DENY_SUITE, || cargo_deny.check());
    match cargo_deny.fetch_advisories(&database) {
        Err(failure) if clone.is_none() => {
            failure.print();
            eprintln!(
                "xtask: not checked: advisories of dependencies, because their database can't be fetched; give a \
                 clone of it: cargo xtask deny --advisories DIRECTORY"
            );
        }
        fetched => suites.run("advisories of dependencies", || {
            fetched?;
            cargo_deny.check_advisories(&database)
        }),
    }
    suites.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_to_end_tests_are_integration_tests() {
        let root = cargo::workspace_root();
        let crates = root.join("crates").read_dir().unwrap().map(|it| it.unwrap().path());
        let packages = crates.chain(["bench", "xtask"].map(|it| root.join(it)));
        let tests = packages.filter_map(|it| it.join("tests").read_dir().ok()).flatten();
        let tests: Vec<PathBuf> = tests.map(|it| it.unwrap().path()).collect();
        // `cargo xtask test` names each test target, so it would not run another one.
        assert_eq!(tests, [root.join("crates/gatehouse/tests/e2e")]);
    }
}
