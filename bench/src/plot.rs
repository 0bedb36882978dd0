//! The results as SVG pictures: how close every goal was, the cost of pages in small and large stores, and the clients'
//! latencies.

use crate::report::Report;
use crate::result_line::ResultLine;
use crate::store_kind::StoreKind;
use crate::table::figure;

const WIDTH: f64 = 1120.0;
/// Left end of the bars; names are left of it.
const LEFT: f64 = 590.0;
/// Right end of the longest bar; figures are right of it.
const RIGHT: f64 = 1000.0;
const TOP: f64 = 64.0;
const ROW: f64 = 22.0;

const GOOD: &str = "#2f7d6d";
const BAD: &str = "#c0392b";
const PALE: &str = "#a9c9c2";
const INK: &str = "#22302d";
const FAINT: &str = "#d5dedb";

pub(crate) fn all(report: &Report) -> Vec<(&'static str, String)> {
    vec![
        ("goals.svg", goals(report)),
        ("pages.svg", pages(report)),
        ("waits.svg", latencies(report)),
    ]
}

/// Each figure as a share of its goal.
fn goals(report: &Report) -> String {
    // Longer bars are cut off; their figures tell.
    const SHARE_MAX: f64 = 1.5;
    let closest = report.closest();
    let mut canvas = Canvas::new("How much of what its goal allows each case takes", closest.len());
    let scale = |share: f64| LEFT + share.clamp(0.0, SHARE_MAX) / SHARE_MAX * (RIGHT - LEFT);
    canvas.rule(scale(1.0), "the goal");
    for it in closest {
        let colour = if it.line.is_missed() { BAD } else { GOOD };
        canvas.name(&name(it.case.number, it.line, it.store));
        canvas.bar(LEFT, scale(it.share), colour, 0.0, 1.0);
        canvas.figure(scale(it.share), &it.line.shown().replace('*', ""));
        canvas.next_row();
    }
    canvas.finish()
}

/// CPU of a page in a small and in a large store.
fn pages(report: &Report) -> String {
    let lines = lines_of(report, |case, _| case == 5);
    let mut canvas = Canvas::new(
        "CPU of the server for a page of 100: pale among 10,000 accesses, dark among many",
        lines.len(),
    );
    let both = |line: &ResultLine| line.measured.max(line.yardstick.unwrap_or_default());
    let most = lines.iter().map(|(_, line)| both(line)).fold(1.0, f64::max);
    let scale = |cpu_us: f64| LEFT + cpu_us / most * (RIGHT - LEFT);
    for (name, line) in lines {
        canvas.name(&name);
        canvas.bar(LEFT, scale(line.yardstick.unwrap_or_default()), PALE, 0.0, 0.5);
        canvas.bar(LEFT, scale(line.measured), GOOD, 0.5, 1.0);
        canvas.figure(scale(both(line)), &format!("{} µs", figure(line.measured)));
        canvas.next_row();
    }
    canvas.finish()
}

/// Latencies from p50 to p99, of all requests.
fn latencies(report: &Report) -> String {
    let lines = lines_of(report, |case, line| case != 4 && case != 5 && line.p99_us.is_some());
    let mut canvas = Canvas::new(
        "How long clients wait: from half of them to 99 of 100, log scale",
        lines.len(),
    );
    let of = |line: &ResultLine| {
        (line.p50_us.unwrap_or(1.0).max(1.0), line.p99_us.unwrap_or(1.0).max(1.0))
    };
    let least = lines.iter().map(|(_, line)| of(line).0).fold(f64::INFINITY, f64::min);
    let most = lines.iter().map(|(_, line)| of(line).1).fold(1.0, f64::max);
    let least = least.min(most).log10().floor();
    // The scale has at least one decade.
    let most = most.log10().ceil().max(least + 1.0);
    let scale = |us: f64| LEFT + (us.log10() - least) / (most - least) * (RIGHT - LEFT);
    for decade in least as i32..=most as i32 {
        let us = 10_f64.powi(decade);
        let name = if us < 1000.0 { format!("{us} µs") } else { format!("{} ms", us / 1000.0) };
        canvas.rule(scale(us), &name);
    }
    for (name, line) in lines {
        let (p50, p99) = of(line);
        canvas.name(&name);
        canvas.bar(scale(p50), scale(p99).max(scale(p50) + 2.0), GOOD, 0.25, 0.75);
        canvas.figure(scale(p99), &format!("{} … {} µs", figure(p50), figure(p99)));
        canvas.next_row();
    }
    canvas.finish()
}

/// Measurements, with their names in pictures.
fn lines_of(
    report: &Report,
    wanted: impl Fn(u8, &ResultLine) -> bool,
) -> Vec<(String, &ResultLine)> {
    let mut lines = Vec::new();
    for chapter in &report.chapters {
        let wanted = chapter.lines.iter().filter(|line| wanted(chapter.case, line));
        lines.extend(wanted.map(|line| (name(chapter.case, line, chapter.store), line)));
    }
    lines
}

fn name(case: u8, line: &ResultLine, store: StoreKind) -> String {
    format!("{case}. {} · {}", line.what, store.name())
}

/// A picture of rows: a name, a bar, a figure.
struct Canvas {
    body: String,
    height: f64,
    y: f64,
}

impl Canvas {
    fn new(title: &str, n_rows: usize) -> Self {
        let height = TOP + ROW * n_rows as f64 + 16.0;
        let mut canvas = Self { body: String::new(), height, y: TOP };
        canvas.text(16.0, 26.0, "start", 16, title);
        canvas
    }

    fn rule(&mut self, x: f64, name: &str) {
        let bottom = self.height - 12.0;
        self.body += &format!(
            "<line x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\" stroke=\"{FAINT}\"/>\n",
            TOP - 6.0
        );
        self.text(x, TOP - 12.0, "middle", 11, name);
    }

    fn name(&mut self, name: &str) {
        self.text(LEFT - 10.0, self.y + 15.0, "end", 12, name);
    }

    /// A bar between two positions, with its top and bottom as parts of the row's height.
    fn bar(&mut self, from: f64, to: f64, colour: &str, top: f64, bottom: f64) {
        let (y, height) = (self.y + 3.0 + top * (ROW - 6.0), (bottom - top) * (ROW - 6.0));
        let width = (to - from).max(1.0);
        self.body += &format!(
            "<rect x=\"{from:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\"/>\n"
        );
    }

    fn figure(&mut self, x: f64, text: &str) {
        self.text(x + 6.0, self.y + 15.0, "start", 11, text);
    }

    fn next_row(&mut self) {
        self.y += ROW;
    }

    fn text(&mut self, x: f64, y: f64, anchor: &str, size: u32, text: &str) {
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        self.body += &format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\">{text}</text>\n"
        );
    }

    fn finish(self) -> String {
        let Self { body, height, .. } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             font-family=\"system-ui, sans-serif\" fill=\"{INK}\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{body}</svg>\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Chapter;

    #[test]
    fn a_missed_goal_is_red_and_names_are_escaped() {
        let line = |ratio| ResultLine::new("a < b", "µs", vec![(ratio, 1.0)]).at_most(1.5);
        let chapter = |case, ratio| Chapter {
            case,
            store: StoreKind::Sqlite,
            about: String::new(),
            lines: vec![line(ratio)],
        };
        let report = Report { chapters: vec![chapter(1, 1.2), chapter(5, 9.0)] };
        let pictures = all(&report);
        let goals = &pictures[0].1;
        assert_eq!((goals.matches(GOOD).count(), goals.matches(BAD).count()), (1, 1));
        assert!(goals.contains("a &lt; b") && goals.contains("9.00 &gt; 1.5"));
        assert!(pictures.iter().all(|(_, svg)| svg.ends_with("</svg>\n")));
    }
}
