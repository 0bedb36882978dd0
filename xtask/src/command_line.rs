//! The command line of `cargo xtask`: its commands, and parsing them.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::failure::Failure;
use crate::fresh::{Debian, Fresh, FreshUser};
use crate::fuzz::FuzzOptions;

/// The text that `cargo xtask help` prints.
pub(crate) const USAGE: &str = "\
The project's chores.

Usage: cargo xtask COMMAND

Commands:
  test [--long] [-- ARGS]  run all tests against a throw-away PostgreSQL; --long also runs the tests
                           that take minutes, and drives the release build; ARGS go to
                           `cargo test`, which then runs alone
  test --api               run only the tests that are made from the OpenAPI document
  test --console           run only the tests that drive the console with a browser
  test --failover          run only the test that kills the primary of three PostgreSQL nodes under
                           load, behind HAProxy and without it; takes minutes
  bench [OPTIONS]          measure the cost of requests, each with a baseline, and write the results;
                           --quick takes fewer accesses and rounds, and less than three minutes;
                           --check compares with the results in the repository, and fails if CPU time
                           has grown by more than a quarter; --strict fails if a goal is missed;
                           --only 1,2,12 measures these cases, --store sqlite or postgres on one
                           store, --rows N lists among N accesses
  fuzz --all [--minutes N] fuzz every parser of text from outside, each for N minutes (default: 1), one on each
                           core at a time; fails if a target finds something
  fuzz TARGET [--minutes N]
                           fuzz one parser: TARGET is a directory of fuzz/seeds
  fresh [12|13] [--user]   make a bare Debian of this release (default: 12), put the last commit and the Rust
                           toolchain into it, and run both commands of the README there, and the commands
                           that the demo prints; --user runs them as a user who may not install anything;
                           needs root, and takes most of an hour
  postgres                 start a throw-away PostgreSQL and keep it until Enter or Ctrl-C
  screenshots              run the tests of the console, and copy its screenshots to docs/images
  lint                     check tidy rules, formatting, clippy and the documentation; the console's source; and Cargo.lock
                           by deny.toml, with cargo-deny too if `deny` has installed it
  tidy                     check every tidy rule: sizes of folders and files, names, headers, doc lines, circles of
                           imports, lines of Markdown
  deny [--advisories DIRECTORY]
                           check licences, versions, sources and security advisories of all dependencies by
                           deny.toml; compiles cargo-deny once; advisories are fetched, or come from a clone of
                           their database in DIRECTORY
  ci                       lint, then test
  help                     print this text

Tools that a chore needs (PostgreSQL 15, PgBouncer, npm, Python 3.10, Chromium 123, curl; Patroni, etcd and
HAProxy for test --failover; g++ for fuzz; debootstrap and git for fresh; git for lint, tidy and deny) are
installed with apt-get if they are missing or too old. Packages of npm and PyPI, a newer Node.js and cargo-deny
are installed below target/.
";

/// A parsed command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Chore {
    Help,
    Test {
        long: bool,
        cargo_arguments: Vec<String>,
    },
    TestApi,
    TestConsole,
    TestFailover,
    Bench {
        with_postgres: bool,
        arguments: Vec<String>,
    },
    Fuzz(FuzzOptions),
    Fresh(Fresh),
    Postgres,
    Screenshots,
    Lint,
    Tidy,
    /// `advisories` is a clone of the advisory database; without it, the database is fetched.
    Deny {
        advisories: Option<PathBuf>,
    },
    Ci,
}

/// Parses the words after `cargo xtask`.
pub(crate) fn parse(words: impl Iterator<Item = OsString>) -> Result<Chore, Failure> {
    let words = words
        .map(|word| {
            word.into_string().map_err(|word| {
                Failure::Usage(format!("{} is not UTF-8; use UTF-8 arguments", word.display()))
            })
        })
        .collect::<Result<Vec<String>, Failure>>()?;

    let Some((command, rest)) = words.split_first() else { return Ok(Chore::Help) };
    let chore = match command.as_str() {
        "help" | "--help" | "-h" => return Ok(Chore::Help),
        "test" => return parse_test(rest),
        "bench" => return parse_bench(rest),
        "fuzz" => return parse_fuzz(rest),
        "fresh" => return parse_fresh(rest),
        "deny" => return parse_deny(rest),
        "postgres" => Chore::Postgres,
        "screenshots" => Chore::Screenshots,
        "lint" => Chore::Lint,
        "tidy" => Chore::Tidy,
        "ci" => Chore::Ci,
        unknown => {
            return Err(Failure::Usage(format!(
                "no command `{unknown}`; use test, bench, fuzz, fresh, postgres, screenshots, lint, tidy, deny, ci or help"
            )));
        }
    };
    match rest.first() {
        None => Ok(chore),
        Some(extra) => Err(Failure::Usage(format!(
            "`{command}` takes no arguments; leave `{extra}` away: cargo xtask {command}"
        ))),
    }
}

fn parse_test(words: &[String]) -> Result<Chore, Failure> {
    let single_suites = [
        ("--api", Chore::TestApi),
        ("--console", Chore::TestConsole),
        ("--failover", Chore::TestFailover),
    ];
    for (option, chore) in single_suites {
        match words.iter().position(|word| word == option) {
            Some(_) if words.len() == 1 => return Ok(chore),
            Some(position) if !words[..position].contains(&"--".to_owned()) => {
                let alone =
                    format!("`test {option}` takes nothing else: cargo xtask test {option}");
                return Err(Failure::Usage(alone));
            }
            _ => {}
        }
    }
    let mut long = false;
    for (position, word) in words.iter().enumerate() {
        match word.as_str() {
            "--long" => long = true,
            "--" => {
                let cargo_arguments = words[position + 1..].to_vec();
                return Ok(Chore::Test { long, cargo_arguments });
            }
            unknown => {
                return Err(Failure::Usage(format!(
                    "`test` has no option `{unknown}`; arguments for `cargo test` go behind `--`: \
                     cargo xtask test -- {unknown}"
                )));
            }
        }
    }
    Ok(Chore::Test { long, cargo_arguments: Vec::new() })
}

/// Checks the options of the bench before it is built, and finds out whether it needs PostgreSQL.
fn parse_bench(words: &[String]) -> Result<Chore, Failure> {
    let wrong =
        |what: &str, right: &str| Failure::Usage(format!("{what}: cargo xtask bench {right}"));
    let (mut store, mut only) = (None, None);
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--quick" | "--strict" | "--check" => {}
            "--only" => {
                let cases = rest.next().map(|cases| cases.split(',').map(str::parse::<u8>));
                let cases = cases.and_then(|cases| cases.collect::<Result<Vec<u8>, _>>().ok());
                let cases = cases.filter(|cases| cases.iter().all(|n| (1..=LAST_CASE).contains(n)));
                let why = format!("`--only` takes cases from 1 to {LAST_CASE}");
                only = Some(cases.ok_or_else(|| wrong(&why, "--only 1,2,12"))?);
            }
            "--rows" => {
                let rows = rest.next().and_then(|rows| rows.parse::<u64>().ok());
                let fits = |rows: &u64| {
                    (20_000..=100_000_000).contains(rows) && rows.is_multiple_of(10_000)
                };
                rows.filter(fits).ok_or_else(|| {
                    wrong("`--rows` is a multiple of 10000, 20000 to 100000000", "--rows 1000000")
                })?;
            }
            "--store" => match rest.next().map(String::as_str) {
                Some(name @ ("sqlite" | "postgres")) => store = Some(name),
                _ => return Err(wrong("`--store` is sqlite or postgres", "--store postgres")),
            },
            unknown => {
                return Err(Failure::Usage(format!(
                    "`bench` has no option `{unknown}`; use --quick, --check, --strict, --only 1,2,12, \
                     --store sqlite, --store postgres or --rows N"
                )));
            }
        }
    }
    let needs_postgres = |case: &u8| !CASES_WITHOUT_POSTGRES.contains(case);
    let with_postgres =
        store != Some("sqlite") && only.is_none_or(|cases| cases.iter().any(needs_postgres));
    Ok(Chore::Bench { with_postgres, arguments: words.to_vec() })
}

/// The bench's last case, as in its `cases.rs`.
const LAST_CASE: u8 = 17;

/// Cases of the bench that need no PostgreSQL.
const CASES_WITHOUT_POSTGRES: [u8; 2] = [7, 11];

fn parse_fresh(words: &[String]) -> Result<Chore, Failure> {
    let (mut debian, mut user) = (None, FreshUser::Root);
    for word in words {
        match (word.as_str(), Debian::parse(word)) {
            ("--user", _) => user = FreshUser::Ordinary,
            (_, Some(release)) if debian.is_none() => debian = Some(release),
            (unexpected, _) => {
                return Err(Failure::Usage(format!(
                    "`fresh` can't take `{unexpected}`; it takes 12 or 13, and --user: cargo xtask fresh 13 --user"
                )));
            }
        }
    }
    Ok(Chore::Fresh(Fresh { debian: debian.unwrap_or(Debian::Bookworm), user }))
}

fn parse_deny(words: &[String]) -> Result<Chore, Failure> {
    match words {
        [] => Ok(Chore::Deny { advisories: None }),
        [option, directory] if option == "--advisories" => {
            Ok(Chore::Deny { advisories: Some(directory.into()) })
        }
        _ => Err(Failure::Usage(
            "`deny` takes the clone of an advisory database, or nothing: cargo xtask deny --advisories DIRECTORY"
                .to_owned(),
        )),
    }
}

fn parse_fuzz(words: &[String]) -> Result<Chore, Failure> {
    let wrong = |what: &str| {
        let right = "cargo xtask fuzz --all --minutes 10, or cargo xtask fuzz TARGET --minutes 10";
        Failure::Usage(format!("{what}: {right}"))
    };
    let (which, minutes) = match words {
        [which] => (which, 1),
        [which, option, minutes] if option == "--minutes" => {
            // For libFuzzer, zero means no limit.
            let minutes = minutes.parse().ok().filter(|it| *it > 0);
            (which, minutes.ok_or_else(|| wrong("`--minutes` is a whole number, 1 or more"))?)
        }
        _ => return Err(wrong("`fuzz` takes --all or a target, and --minutes")),
    };
    match which.as_str() {
        "--all" => Ok(Chore::Fuzz(FuzzOptions { target: None, minutes })),
        option if option.starts_with('-') => {
            Err(wrong(&format!("`fuzz` has no option `{option}`")))
        }
        target => Ok(Chore::Fuzz(FuzzOptions { target: Some(target.to_owned()), minutes })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_line(line: &str) -> Result<Chore, String> {
        parse(line.split_whitespace().map(OsString::from)).map_err(|failure| match failure {
            Failure::Usage(what) => what,
            other => panic!("a command line fails with wrong usage alone: {other:?}"),
        })
    }

    #[test]
    fn no_command_asks_for_help() {
        assert_eq!(parse_line(""), Ok(Chore::Help));
        assert_eq!(parse_line("help"), Ok(Chore::Help));
    }

    #[test]
    fn everything_behind_the_dashes_goes_to_cargo_test() {
        let cargo_arguments = ["--test", "api", "--", "--long"].map(String::from).to_vec();
        assert_eq!(
            parse_line("test -- --test api -- --long"),
            Ok(Chore::Test { long: false, cargo_arguments })
        );
        assert_eq!(
            parse_line("test --long"),
            Ok(Chore::Test { long: true, cargo_arguments: Vec::new() })
        );
    }

    #[test]
    fn the_tests_of_the_document_the_console_and_failover_run_alone() {
        assert_eq!(parse_line("test --api"), Ok(Chore::TestApi));
        assert_eq!(parse_line("test --console"), Ok(Chore::TestConsole));
        assert_eq!(parse_line("test --failover"), Ok(Chore::TestFailover));
        for line in [
            "test --failover --long",
            "test --api --failover",
            "test --console --api",
            "test --long --console",
            "test --api --long",
            "test --long --api",
            "test --api -- x",
        ] {
            assert!(parse_line(line).is_err_and(|what| what.contains("nothing else")), "{line}");
        }
        assert!(matches!(parse_line("test -- --api"), Ok(Chore::Test { .. })));
    }

    #[test]
    fn options_of_the_bench_are_passed_on_and_tell_whether_postgres_is_needed() {
        for (line, with_postgres) in [
            ("bench", true),
            ("bench --quick --strict --check", true),
            ("bench --store sqlite --rows 1000000", false),
            ("bench --rows 1000000 --store postgres", true),
            ("bench --only 7,11 --quick", false),
            ("bench --only 7,8", true),
            ("bench --only 1 --store sqlite", false),
        ] {
            let arguments = line.split(' ').skip(1).map(String::from).collect();
            assert_eq!(parse_line(line), Ok(Chore::Bench { with_postgres, arguments }), "{line}");
        }
    }

    #[test]
    fn a_fresh_machine_is_debian_12_and_root_by_default() {
        for (line, debian, user) in [
            ("fresh", Debian::Bookworm, FreshUser::Root),
            ("fresh 13", Debian::Trixie, FreshUser::Root),
            ("fresh --user 12", Debian::Bookworm, FreshUser::Ordinary),
        ] {
            assert_eq!(parse_line(line), Ok(Chore::Fresh(Fresh { debian, user })), "{line}");
        }
        for line in ["fresh 11", "fresh 12 13"] {
            assert!(parse_line(line).is_err_and(|what| what.contains("12 or 13")), "{line}");
        }
    }

    #[test]
    fn fuzzing_takes_a_minute_or_as_long_as_is_said() {
        let fuzz = |target: Option<&str>, minutes| {
            Ok(Chore::Fuzz(FuzzOptions { target: target.map(str::to_owned), minutes }))
        };
        assert_eq!(parse_line("fuzz --all"), fuzz(None, 1));
        assert_eq!(parse_line("fuzz --all --minutes 10"), fuzz(None, 10));
        assert_eq!(parse_line("fuzz filter --minutes 2"), fuzz(Some("filter"), 2));
    }

    #[test]
    fn advisories_are_fetched_unless_a_clone_is_named() {
        assert_eq!(parse_line("deny"), Ok(Chore::Deny { advisories: None }));
        let advisories = Some("../advisory-db".into());
        assert_eq!(parse_line("deny --advisories ../advisory-db"), Ok(Chore::Deny { advisories }));
    }

    #[test]
    fn wrong_use_says_what_would_be_right() {
        let unknown_command = parse_line("tset");
        assert!(unknown_command.is_err_and(|what| what.contains("use test, bench, fuzz")));
        let misplaced_argument = parse_line("test --nocapture");
        assert!(misplaced_argument.is_err_and(|what| what.contains("test -- --nocapture")));
        for (line, advice) in [
            ("bench --fast", "use --quick"),
            ("bench --rows", "--rows 1000000"),
            ("bench --rows many", "--rows 1000000"),
            ("bench --rows 10000", "--rows 1000000"),
            ("bench --rows 99999999999990000", "--rows 1000000"),
            ("fuzz", "cargo xtask fuzz --all"),
            ("fuzz --all --minutes 0", "1 or more"),
            ("bench --store mysql", "sqlite or postgres"),
            ("bench --only", "--only 1,2,12"),
            ("bench --only 18", "--only 1,2,12"),
            ("bench --only one", "--only 1,2,12"),
            ("fuzz --all --minutes", "cargo xtask fuzz --all"),
            ("fuzz --every", "no option `--every`"),
            ("fuzz filter manifest", "takes --all or a target"),
            ("deny licences", "cargo xtask deny --advisories DIRECTORY"),
            ("deny --advisories", "cargo xtask deny --advisories DIRECTORY"),
        ] {
            assert!(parse_line(line).is_err_and(|what| what.contains(advice)), "{line}");
        }
        let extra_argument = parse_line("lint --fix");
        assert!(extra_argument.is_err_and(|what| what.contains("leave `--fix` away")));
    }
}
