//! The results: chapters for people, JSON for programs, and the tables of the documentation.

use serde::{Deserialize, Serialize};

use crate::cases::{CASES, Case};
use crate::result_line::ResultLine;
use crate::store_kind::StoreKind;
use crate::table::{figure, layout};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Report {
    /// Chapters by case, and by store.
    pub(crate) chapters: Vec<Chapter>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Chapter {
    pub(crate) case: u8,
    pub(crate) store: StoreKind,
    /// Describes the measured setup.
    pub(crate) about: String,
    pub(crate) lines: Vec<ResultLine>,
}

/// The measurement that is closest to a goal, or misses it most, among those of a chapter with the same goal.
#[derive(Clone, Debug)]
pub(crate) struct Closest<'a> {
    pub(crate) case: &'static Case,
    pub(crate) store: StoreKind,
    pub(crate) line: &'a ResultLine,
    /// Figure as a share of the goal.
    pub(crate) share: f64,
    pub(crate) n_lines: usize,
}

impl Report {
    /// Adds a chapter, or replaces it.
    pub(crate) fn put(&mut self, chapter: Chapter) {
        let key = |it: &Chapter| (it.case, it.store);
        self.chapters.retain(|it| key(it) != key(&chapter));
        self.chapters.push(chapter);
        self.chapters.sort_by_key(key);
    }

    pub(crate) fn n_missed(&self) -> usize {
        let lines = self.chapters.iter().flat_map(|chapter| &chapter.lines);
        lines.filter(|line| line.is_missed()).count()
    }

    /// The whole report, for people.
    pub(crate) fn markdown(&self) -> String {
        let chapters = CASES.iter().filter_map(|case| {
            let text = self.chapter(case.number)?;
            let beside = match case.yardstick {
                "" => String::new(),
                yardstick => format!("\n\nBeside: {yardstick}."),
            };
            Some(format!("## {}. {}{beside}\n\n{text}\n", case.number, case.title))
        });
        format!("{}## All goals\n\n{}", chapters.collect::<String>(), self.summary())
    }

    /// A case on every store that was measured.
    pub(crate) fn chapter(&self, case: u8) -> Option<String> {
        let chapters = self.chapters.iter().filter(|it| it.case == case);
        let texts: Vec<String> = chapters.map(Chapter::markdown).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    /// A table of how close every goal was.
    pub(crate) fn summary(&self) -> String {
        let head = ["case", "what", "store", "measured", "taken"].map(str::to_owned).to_vec();
        let rows = self.closest().into_iter().map(|it| {
            let of_several = match it.n_lines {
                1 => String::new(),
                n => format!(" (the closest of {n})"),
            };
            vec![
                format!("{}. {}", it.case.number, it.case.title),
                format!("{}{of_several}", it.line.what),
                it.store.name().to_owned(),
                it.line.shown(),
                format!("{:.0} %", it.share * 100.0),
            ]
        });
        let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
        let end = match self.n_missed() {
            0 => "Every goal is met.".to_owned(),
            n => format!("Goals that are missed, in bold: {n}."),
        };
        format!("{}\n{end}\n", layout(&rows, 3))
    }

    /// The measurements for the summary and the plot.
    pub(crate) fn closest(&self) -> Vec<Closest<'_>> {
        let mut all: Vec<Closest<'_>> = Vec::new();
        for chapter in &self.chapters {
            let Some(case) = CASES.iter().find(|case| case.number == chapter.case) else {
                continue;
            };
            let first = all.len();
            for line in &chapter.lines {
                let Some(goal) = line.goal else { continue };
                let share = goal.share(line.compared());
                let same = all[first..]
                    .iter_mut()
                    .find(|it| it.line.goal == line.goal && it.line.unit == line.unit);
                match same {
                    None => {
                        all.push(Closest { case, store: chapter.store, line, share, n_lines: 1 });
                    }
                    Some(closest) => {
                        closest.n_lines += 1;
                        if share > closest.share {
                            (closest.line, closest.share) = (line, share);
                        }
                    }
                }
            }
        }
        all
    }
}

impl Chapter {
    /// The setup, and a table with the columns that have figures.
    fn markdown(&self) -> String {
        type Column = (&'static str, fn(&ResultLine) -> Option<f64>);
        const MORE: [Column; 4] = [
            ("p50 µs", |line| line.p50_us),
            ("p99 µs", |line| line.p99_us),
            ("requests/s", |line| line.per_second),
            ("database CPU µs", |line| line.database_us),
        ];
        let is_there = |column: &&Column| self.lines.iter().any(|line| column.1(line).is_some());
        let more: Vec<&Column> = MORE.iter().filter(is_there).collect();
        let mut head = vec!["what", "rounds", "unit", "measured", "yardstick", "ratio"];
        head.extend(more.iter().map(|(name, _)| name));
        let head = head.into_iter().map(str::to_owned).collect();
        let rows = self.lines.iter().map(|line| {
            let mut row = vec![line.what.clone(), line.n_rounds.to_string(), line.unit.clone()];
            row.push(figure(line.measured));
            row.push(line.yardstick.map(figure).unwrap_or_default());
            row.push(line.shown());
            row.extend(more.iter().map(|(_, of)| of(line).map(figure).unwrap_or_default()));
            row
        });
        let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
        format!("{}\n\n{}", self.about, layout(&rows, 3))
    }
}

/// Replaces the text between the lines `<!-- bench:NAME -->` and `<!-- /bench -->`; `None` if a page has no such
/// section.
pub(crate) fn replace_section(page: &str, name: &str, text: &str) -> Option<String> {
    let opening = format!("<!-- bench:{name} -->\n");
    let (before, rest) = page.split_once(&opening)?;
    let (_, after) = rest.split_once("<!-- /bench -->")?;
    Some(format!("{before}{opening}\n{}\n\n<!-- /bench -->{after}", text.trim_end()))
}

#[cfg(test)]
mod tests;
