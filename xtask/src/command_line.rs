//! What can be asked of `cargo xtask`, and how a command line is read into it.

use std::ffi::OsString;

use crate::failure::Failure;

/// The text that `cargo xtask help` prints.
pub(crate) const USAGE: &str = "\
The project's chores.

Usage: cargo xtask COMMAND

Commands:
  test [--long] [-- ARGS]  run all tests against a throw-away PostgreSQL; --long also runs the tests
                           that take minutes, and drives the release build; ARGS go to
                           `cargo test`, which then runs alone
  test --api               run only the tests that are made from the OpenAPI document
  test --failover          run only the test that kills the primary of three PostgreSQL nodes under
                           load, behind HAProxy and without it; takes minutes
  bench [OPTIONS]          measure what lists cost, with 10,000 and with 10,000,000 accesses;
                           --quick takes fewer accesses and rounds, --rows N so many accesses,
                           --store sqlite or postgres, --strict fails where a goal is missed;
                           --batches measures batches instead, with --passwords N chosen ones;
                           --creations measures accesses that clients make one by one, on one server
                           and on three, with PostgreSQL;
                           --products measures products of simulated platforms instead
  fuzz [SECONDS]           try to break the readers of text, a minute each unless said otherwise;
                           needs `cargo install cargo-fuzz`
  postgres                 start a throw-away PostgreSQL and keep it until Enter or Ctrl-C
  lint                     check formatting, clippy and the documentation
  ci                       lint, then test
  help                     print this text

PostgreSQL 15 or later is needed for test, postgres, ci and bench --store postgres or --creations; test,
postgres and ci also need PgBouncer, test and ci Node.js and Python 3.10 or later, test --failover Patroni,
etcd and HAProxy. What is missing is installed with apt-get, and what the tests
take from npm and PyPI goes below target/.
";

/// One command, completely read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Chore {
    Help,
    Test { long: bool, cargo_arguments: Vec<String> },
    TestApi,
    TestFailover,
    Bench { with_postgres: bool, arguments: Vec<String> },
    Fuzz { seconds: u32 },
    Postgres,
    Lint,
    Ci,
}

/// Reads the words after `cargo xtask`.
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
        "postgres" => Chore::Postgres,
        "lint" => Chore::Lint,
        "ci" => Chore::Ci,
        unknown => {
            return Err(Failure::Usage(format!(
                "no command `{unknown}`; use test, bench, fuzz, postgres, lint, ci or help"
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
    for (option, chore) in [("--api", Chore::TestApi), ("--failover", Chore::TestFailover)] {
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

/// Looks for mistakes and for what concerns xtask itself. The bench reads the values again; this way
/// nobody waits for a build to hear of a misspelt option.
fn parse_bench(words: &[String]) -> Result<Chore, Failure> {
    let wrong =
        |what: &str, right: &str| Failure::Usage(format!("{what}: cargo xtask bench {right}"));
    let mut with_postgres = false;
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--quick" | "--strict" | "--batches" | "--products" => {}
            "--creations" => with_postgres = true,
            "--passwords" => {
                let n = rest.next().and_then(|n| n.parse::<u32>().ok());
                n.filter(|n| (1..=100_000).contains(n)).ok_or_else(|| {
                    wrong("`--passwords` is 1 to 100000", "--batches --passwords 10000")
                })?;
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
                Some("sqlite") => with_postgres = false,
                Some("postgres") => with_postgres = true,
                _ => return Err(wrong("`--store` is sqlite or postgres", "--store postgres")),
            },
            unknown => {
                return Err(Failure::Usage(format!(
                    "`bench` has no option `{unknown}`; use --quick, --rows N, --store sqlite, \
                     --store postgres, --batches, --passwords N, --creations, --products or --strict"
                )));
            }
        }
    }
    let is_there = |option: &str| words.iter().any(|word| word == option);
    if is_there("--products") && ["--batches", "--rows", "--store"].into_iter().any(is_there) {
        let why = "`--products` goes without `--batches`, `--rows` and `--store`";
        return Err(wrong(why, "--products"));
    }
    if is_there("--creations") && ["--batches", "--products", "--store"].into_iter().any(is_there) {
        let why = "`--creations` goes without `--batches`, `--products` and `--store`";
        return Err(wrong(why, "--creations"));
    }
    Ok(Chore::Bench { with_postgres, arguments: words.to_vec() })
}

fn parse_fuzz(words: &[String]) -> Result<Chore, Failure> {
    let seconds = match words {
        [] => Some(60),
        // To the fuzzer itself, zero would mean for ever.
        [seconds] => seconds.parse().ok().filter(|seconds| *seconds > 0),
        _ => None,
    };
    let wrong = || Failure::Usage("`fuzz` takes a number of seconds: cargo xtask fuzz 600".into());
    seconds.map(|seconds| Chore::Fuzz { seconds }).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_line(line: &str) -> Result<Chore, String> {
        parse(line.split_whitespace().map(OsString::from)).map_err(|failure| match failure {
            Failure::Usage(what) => what,
            other => panic!("a command line can only be used wrongly: {other:?}"),
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
    fn the_tests_of_the_document_and_of_failover_run_alone() {
        assert_eq!(parse_line("test --api"), Ok(Chore::TestApi));
        assert_eq!(parse_line("test --failover"), Ok(Chore::TestFailover));
        for line in [
            "test --failover --long",
            "test --api --failover",
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
            ("bench", false),
            ("bench --quick --strict", false),
            ("bench --store sqlite --rows 1000000", false),
            ("bench --rows 1000000 --store postgres", true),
            ("bench --batches --passwords 10000", false),
            ("bench --products --quick", false),
            ("bench --creations --rows 20000", true),
        ] {
            let arguments = line.split(' ').skip(1).map(String::from).collect();
            assert_eq!(parse_line(line), Ok(Chore::Bench { with_postgres, arguments }), "{line}");
        }
    }

    #[test]
    fn fuzzing_takes_a_minute_or_as_long_as_is_said() {
        assert_eq!(parse_line("fuzz"), Ok(Chore::Fuzz { seconds: 60 }));
        assert_eq!(parse_line("fuzz 600"), Ok(Chore::Fuzz { seconds: 600 }));
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
            ("fuzz 0", "cargo xtask fuzz 600"),
            ("bench --store mysql", "sqlite or postgres"),
            ("bench --passwords 0", "--passwords 10000"),
            ("bench --products --store postgres", "cargo xtask bench --products"),
            ("bench --creations --store sqlite", "cargo xtask bench --creations"),
            ("fuzz long", "cargo xtask fuzz 600"),
            ("fuzz 1 2", "cargo xtask fuzz 600"),
        ] {
            assert!(parse_line(line).is_err_and(|what| what.contains(advice)), "{line}");
        }
        let extra_argument = parse_line("lint --fix");
        assert!(extra_argument.is_err_and(|what| what.contains("leave `--fix` away")));
    }
}
