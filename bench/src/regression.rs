//! What uses more than it did when the results were kept.

use crate::line::Goal;
use crate::report::Report;

/// How many times the ratio that was kept a ratio may be.
const TOLERANCE: f64 = 1.25;

/// What came of comparing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Comparison {
    /// Lines that are in both reports.
    pub(crate) n_compared: usize,
    /// Those that use more than they may, in words.
    pub(crate) regressions: Vec<String>,
}

/// Compares ratios of CPU: those hardly depend on the machine, nor on what else it does.
pub(crate) fn compare(kept: &Report, now: &Report) -> Comparison {
    let mut comparison = Comparison::default();
    for chapter in &now.chapters {
        let before = kept.chapters.iter();
        let before = before.filter(|it| (it.case, it.store) == (chapter.case, chapter.store));
        let before: Vec<_> = before.flat_map(|it| &it.lines).filter(|line| line.is_cpu).collect();
        for line in chapter.lines.iter().filter(|line| line.is_cpu) {
            let same = before.iter().find(|it| it.what == line.what);
            let Some((before, now)) = same.and_then(|it| it.ratio).zip(line.ratio) else {
                continue;
            };
            comparison.n_compared += 1;
            let grown = match line.goal {
                Some(Goal::AtLeast(_)) => before / now,
                _ => now / before,
            };
            if grown > TOLERANCE {
                comparison.regressions.push(format!(
                    "case {}, {}, {}: {now:.2} times the yardstick, and was {before:.2}",
                    chapter.case,
                    chapter.store.name(),
                    line.what
                ));
            }
        }
    }
    comparison
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Line;
    use crate::options::StoreKind;
    use crate::report::Chapter;

    fn report(lines: Vec<Line>) -> Report {
        let chapter = Chapter { case: 1, store: StoreKind::Sqlite, about: String::new(), lines };
        Report { chapters: vec![chapter] }
    }

    fn line(what: &str, ratio: f64) -> Line {
        Line::new(what, "µs", vec![(ratio, 1.0)]).cpu()
    }

    #[test]
    fn a_ratio_may_be_a_quarter_more_than_it_was() {
        let kept = report(vec![line("read", 1.0), line("check", 2.0)]);
        let now = report(vec![line("read", 1.25), line("check", 2.6), line("new", 9.0)]);
        let Comparison { n_compared, regressions } = compare(&kept, &now);
        let said = "case 1, SQLite, check: 2.60 times the yardstick, and was 2.00";
        assert_eq!((n_compared, regressions), (2, vec![said.to_owned()]));
    }

    #[test]
    fn what_is_to_be_large_must_not_become_small() {
        let kept = report(vec![line("gathered", 10.0).at_least(3.0)]);
        let compare = |now: f64| compare(&kept, &report(vec![line("gathered", now).at_least(3.0)]));
        assert_eq!(compare(8.0).regressions.len(), 0);
        assert_eq!(compare(7.9).regressions.len(), 1);
        assert_eq!(compare(30.0).regressions.len(), 0);
    }

    #[test]
    fn times_are_not_compared() {
        let time = |ratio| report(vec![Line::new("a page", "ms", vec![(ratio, 1.0)])]);
        assert_eq!(compare(&time(1.0), &time(9.0)), Comparison::default());
    }
}
