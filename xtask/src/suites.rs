//! Suites of tests and checks: a suite that fails stops no other, and the closing lines name those that failed.

use std::thread;
use std::time::Instant;

use crate::failure::Failure;

/// The suites that have run, in order.
#[derive(Debug, Default)]
pub(crate) struct Suites {
    results: Vec<SuiteResult>,
}

#[derive(Debug)]
struct SuiteResult {
    name: String,
    seconds: u64,
    passed: bool,
}

impl SuiteResult {
    fn run(name: &str, suite: impl FnOnce() -> Result<(), Failure>) -> Self {
        let start = Instant::now();
        let passed = suite().inspect_err(Failure::print).is_ok();
        Self { name: name.to_owned(), seconds: start.elapsed().as_secs(), passed }
    }
}

impl Suites {
    /// Runs a suite. A failure is printed now, and counted by [`Suites::finish`].
    pub(crate) fn run(&mut self, name: &str, suite: impl FnOnce() -> Result<(), Failure>) {
        self.results.push(SuiteResult::run(name, suite));
    }

    /// Runs two suites at the same time, because each leaves the processor idle now and then.
    pub(crate) fn run_both(
        &mut self,
        (first_name, first): (&str, impl FnOnce() -> Result<(), Failure>),
        (second_name, second): (&str, impl FnOnce() -> Result<(), Failure> + Send),
    ) {
        thread::scope(|scope| {
            let second = scope.spawn(|| SuiteResult::run(second_name, second));
            self.results.push(SuiteResult::run(first_name, first));
            self.results.push(second.join().expect("a suite fails, it does not panic"));
        });
    }

    /// Prints a line for each suite; fails if a suite has failed.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        for SuiteResult { name, seconds, passed } in &self.results {
            let outcome = if *passed { "passed" } else { "FAILED" };
            eprintln!("xtask: {outcome} in {seconds} s: {name}");
        }
        let failed: Vec<&str> =
            self.results.iter().filter(|it| !it.passed).map(|it| it.name.as_str()).collect();
        if failed.is_empty() {
            return Ok(());
        }
        let n_suites = self.results.len();
        Err(Failure::Trouble(format!(
            "{} of {n_suites} suites failed: {}; the reasons are above",
            failed.len(),
            failed.join(", ")
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_that_fails_hides_no_other() {
        let mut suites = Suites::default();
        suites.run("first", || Err(Failure::Trouble("broken".to_owned())));
        let mut ran = false;
        suites.run("second", || {
            ran = true;
            Ok(())
        });
        assert!(ran);
        let Err(Failure::Trouble(text)) = suites.finish() else { panic!("the first has failed") };
        assert_eq!(text, "1 of 2 suites failed: first; the reasons are above");
    }

    #[test]
    fn of_two_suites_at_once_either_may_fail() {
        let broken = || Err(Failure::Trouble("broken".to_owned()));
        let mut suites = Suites::default();
        suites.run_both(("first", || Ok(())), ("second", broken));
        suites.run_both(("third", broken), ("fourth", || Ok(())));
        let Err(Failure::Trouble(text)) = suites.finish() else { panic!("two have failed") };
        assert_eq!(text, "2 of 4 suites failed: second, third; the reasons are above");
    }

    #[test]
    fn suites_that_pass_are_a_success() {
        let mut suites = Suites::default();
        suites.run("only", || Ok(()));
        assert!(suites.finish().is_ok());
    }
}
