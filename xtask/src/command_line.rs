//! What can be asked of `cargo xtask`, and how a command line is read into it.

use std::ffi::OsString;

use crate::failure::Failure;

/// The text that `cargo xtask help` prints.
pub(crate) const USAGE: &str = "\
The project's chores.

Usage: cargo xtask COMMAND

Commands:
  test [--long] [-- ARGS]  run all tests against a throw-away PostgreSQL and the release binary;
                           --long also runs the tests that take minutes, ARGS go to `cargo test`
  postgres                 start a throw-away PostgreSQL and keep it until Enter or Ctrl-C
  lint                     check formatting, clippy and the documentation
  ci                       lint, then test
  help                     print this text

PostgreSQL 15 or newer is needed for test, postgres and ci. When its server programs are missing,
they are installed with apt-get.
";

/// One command, completely read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Chore {
    Help,
    Test { long: bool, cargo_arguments: Vec<String> },
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
        "postgres" => Chore::Postgres,
        "lint" => Chore::Lint,
        "ci" => Chore::Ci,
        unknown => {
            return Err(Failure::Usage(format!(
                "no command `{unknown}`; use test, postgres, lint, ci or help"
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
    fn wrong_use_says_what_would_be_right() {
        let unknown_command = parse_line("tset");
        assert!(unknown_command.is_err_and(|what| what.contains("use test, postgres, lint, ci")));
        let misplaced_argument = parse_line("test --nocapture");
        assert!(misplaced_argument.is_err_and(|what| what.contains("test -- --nocapture")));
        let extra_argument = parse_line("lint --fix");
        assert!(extra_argument.is_err_and(|what| what.contains("leave `--fix` away")));
    }
}
