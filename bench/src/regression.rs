//! Regressions against the stored results.

use crate::report::{Chapter, Report};
use crate::result_line::Goal;

/// Highest ratio as a multiple of the stored ratio.
const TOLERANCE: f64 = 1.25;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Comparison {
    /// Measurements that are in both reports.
    pub(crate) n_compared: usize,
    /// Regressions, in words.
    pub(crate) regressions: Vec<String>,
}

/// Compares ratios of CPU, which hardly depend on the machine or its other work. A stored measurement must be there
/// again if its case was measured.
pub(crate) fn compare(baseline: &Report, now: &Report) -> Comparison {
    let mut comparison = Comparison::default();
    for chapter in &baseline.chapters {
        let mut measured = now.chapters.iter();
        let is_same = |it: &&Chapter| (it.case, it.store) == (chapter.case, chapter.store);
        let Some(again) = measured.find(is_same) else { continue };
        for line in chapter.lines.iter().filter(|line| line.is_cpu) {
            let same = again.lines.iter().find(|it| it.is_cpu && it.what == line.what);
            let ratio = same.and_then(|it| it.ratio);
            let text = line.ratio.map(|before| judge(line.goal, before, ratio));
            comparison.n_compared += 1;
            if let Some(text) = text.flatten() {
                let (store, what) = (chapter.store.name(), &line.what);
                let text = format!("case {}, {store}, {what}: {text}", chapter.case);
                comparison.regressions.push(text);
            }
        }
    }
    comparison
}

/// Describes a regression; `None` if there is none.
fn judge(goal: Option<Goal>, before: f64, now: Option<f64>) -> Option<String> {
    let Some(now) = now else { return Some("it is not measured any more".to_owned()) };
    let grown = match goal {
        Some(Goal::AtLeast(_)) => before / now,
        _ => now / before,
    };
    // Written so that NaN counts as a regression.
    let is_fine = grown <= TOLERANCE;
    (!is_fine).then(|| format!("{now:.2} times the yardstick, and was {before:.2}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result_line::ResultLine;
    use crate::store_kind::StoreKind;

    fn report(lines: Vec<ResultLine>) -> Report {
        let chapter = Chapter { case: 1, store: StoreKind::Sqlite, about: String::new(), lines };
        Report { chapters: vec![chapter] }
    }

    fn line(what: &str, ratio: f64) -> ResultLine {
        ResultLine::new(what, "µs", vec![(ratio, 1.0)]).cpu()
    }

    #[test]
    fn a_ratio_may_be_a_quarter_more_than_it_was() {
        let baseline = report(vec![line("read", 1.0), line("check", 2.0)]);
        let now = report(vec![line("read", 1.25), line("check", 2.6), line("new", 9.0)]);
        let Comparison { n_compared, regressions } = compare(&baseline, &now);
        let text = "case 1, SQLite, check: 2.60 times the yardstick, and was 2.00";
        assert_eq!((n_compared, regressions), (2, vec![text.to_owned()]));
    }

    #[test]
    fn a_figure_with_a_lower_bound_must_not_fall() {
        let baseline = report(vec![line("gathered", 10.0).at_least(3.0)]);
        let compare =
            |now: f64| compare(&baseline, &report(vec![line("gathered", now).at_least(3.0)]));
        assert_eq!(compare(8.0).regressions.len(), 0);
        assert_eq!(compare(7.9).regressions.len(), 1);
        assert_eq!(compare(30.0).regressions.len(), 0);
    }

    #[test]
    fn a_missing_measurement_is_reported() {
        let baseline = report(vec![line("read", 1.0), line("check", 2.0)]);
        let Comparison { regressions, .. } = compare(&baseline, &report(vec![line("read", 1.0)]));
        assert_eq!(regressions, ["case 1, SQLite, check: it is not measured any more"]);
        let other_cases = compare(&baseline, &Report::default());
        assert_eq!(other_cases, Comparison::default());
    }

    #[test]
    fn durations_are_not_compared() {
        let time = |ratio| report(vec![ResultLine::new("a page", "ms", vec![(ratio, 1.0)])]);
        assert_eq!(compare(&time(1.0), &time(9.0)), Comparison::default());
    }
}
