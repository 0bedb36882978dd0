//! The report of a target's run, read from the output of libFuzzer.

/// Report of a target's run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Report {
    /// Number of inputs that were tried.
    n_runs: u64,
    /// Edges of the code that the seeds reach, and edges that were reached in the end.
    coverage: Option<(u64, u64)>,
    outcome: Outcome,
    /// Path of the log.
    log: String,
}

#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    NothingFound,
    /// Path of the input that broke the target.
    Found(String),
    /// The target ended early without an input that broke it.
    Failed,
}

impl Report {
    /// Reads the output of libFuzzer.
    pub(crate) fn read(output: &str, has_succeeded: bool, log: String) -> Self {
        let after = |line: &str, word: &str| {
            let (_, rest) = line.split_once(word)?;
            rest.split_whitespace().next()?.parse::<u64>().ok()
        };
        let last = |word: &str| output.lines().rev().find_map(|line| after(line, word));
        let seeds = output.lines().find(|line| line.contains("INITED"));
        let coverage = seeds.and_then(|it| after(it, "cov: ")).zip(last("cov: "));
        let written = output.lines().rev().find_map(|line| {
            line.split_once("Test unit written to ").map(|(_, file)| file.trim().to_owned())
        });
        let outcome = match written {
            _ if has_succeeded => Outcome::NothingFound,
            Some(file) => Outcome::Found(file),
            None => Outcome::Failed,
        };
        let n_runs = last("stat::number_of_executed_units: ").unwrap_or_default();
        Self { n_runs, coverage, outcome, log }
    }

    /// Whether the target found nothing.
    pub(crate) fn has_passed(&self) -> bool {
        self.outcome == Outcome::NothingFound
    }

    /// The report in one line.
    pub(crate) fn line(&self, target: &str) -> String {
        let Self { n_runs, coverage, outcome, log } = self;
        let coverage = match coverage {
            Some((seeds, all)) => format!("{seeds} + {} edges", all.saturating_sub(*seeds)),
            None => "no edges".to_owned(),
        };
        let outcome = match outcome {
            Outcome::NothingFound => "nothing found".to_owned(),
            Outcome::Found(file) => format!("FOUND {file} (see {log})"),
            Outcome::Failed => format!("FAILED (see {log})"),
        };
        format!("{target}: {n_runs} runs, {coverage}, {outcome}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(output: &str, has_succeeded: bool) -> String {
        Report::read(output, has_succeeded, "log".into()).line("t")
    }

    #[test]
    fn a_report_says_what_was_done_and_where_to_look() {
        let begun = "INFO: seed corpus: files: 9\n#10\tINITED cov: 100 ft: 200 corp: 9/9b\n\
                     #99\tNEW    cov: 120 ft: 230 corp: 10/9b exec/s: 0\n";
        let stats = "stat::number_of_executed_units: 1234\nstat::peak_rss_mb: 40\n";
        let done = format!("{begun}#1234\tDONE   cov: 120 ft: 230\n{stats}");
        assert_eq!(line(&done, true), "t: 1234 runs, 100 + 20 edges, nothing found");
        let found = format!(
            "{begun}thread panicked\n{stats}artifact_prefix='a/'; Test unit written to a/crash-1\nBase64: QQ==\n"
        );
        assert_eq!(line(&found, false), "t: 1234 runs, 100 + 20 edges, FOUND a/crash-1 (see log)");
        assert_eq!(line("FUZZ_TARGET must be", false), "t: 0 runs, no edges, FAILED (see log)");
    }
}
