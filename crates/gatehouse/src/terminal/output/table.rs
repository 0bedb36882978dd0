//! Tables that fit the terminal.
//!
//! Some columns stay whole, because people copy them; others are cut or left out. The other formats have everything.
//! Where the output is no terminal, nothing is cut.

use std::io::{self, Write};

use serde_json::Value;

use super::{Column, Fit};
use crate::terminal::screen::{Screen, cut, harmless, status_style, width};

/// Spaces between two columns.
const GAP: usize = 2;

/// Columns fitted to a terminal.
pub(crate) struct Table {
    columns: Vec<Fitted>,
    screen: Screen,
}

struct Fitted {
    column: &'static Column,
    width: usize,
}

impl Table {
    /// Chooses columns and their widths by the first rows.
    pub(crate) fn fit(columns: &'static [Column], rows: &[Value], screen: Screen) -> Self {
        let fit = |column: &'static Column| {
            let cells = rows.iter().map(|row| width(&harmless(&column.short(row))));
            let widest = cells.max().unwrap_or(0);
            // A terminal hides an optional column that is empty; programs rely on every column.
            let is_shown = match column.fit {
                Fit::CsvOnly => false,
                Fit::Optional(_) => widest > 0 || screen.width.is_none(),
                Fit::Whole | Fit::Cut(_) => true,
            };
            is_shown.then(|| Fitted { column, width: widest.max(width(column.head)) })
        };
        let mut fitted: Vec<Fitted> = columns.iter().filter_map(fit).collect();
        if let Some(width_max) = screen.width {
            shrink(&mut fitted, width_max);
        }
        Self { columns: fitted, screen }
    }

    pub(crate) fn write_head(&self, out: &mut impl Write) -> io::Result<()> {
        let cells = self
            .columns
            .iter()
            .map(|it| (self.screen.heading(it.column.head), width(it.column.head), it.width));
        write_line(out, cells.collect())
    }

    pub(crate) fn write_row(&self, out: &mut impl Write, row: &Value) -> io::Result<()> {
        let cell = |it: &Fitted| {
            let text = it.column.short(row);
            let text = harmless(&text);
            let is_cut = self.screen.width.is_some() && it.column.fit != Fit::Whole;
            let text = if is_cut { cut(&text, it.width) } else { text };
            let taken = width(&text);
            (paint(self.screen, it.column, &text), taken, it.width)
        };
        write_line(out, self.columns.iter().map(cell).collect())
    }
}

fn paint(screen: Screen, column: &Column, text: &str) -> String {
    match column.head {
        "STATUS" | "STATE" => screen.paint(status_style(text), text),
        _ => text.to_owned(),
    }
}

fn total<'f>(columns: impl IntoIterator<Item = &'f Fitted>) -> usize {
    let widths = columns.into_iter().map(|it| it.width + GAP);
    widths.sum::<usize>().saturating_sub(GAP)
}

/// Makes columns fit: drops optional ones, then cuts others.
fn shrink(columns: &mut Vec<Fitted>, width_max: usize) {
    let rank = |it: &Fitted| match it.column.fit {
        Fit::Optional(rank) => Some(rank),
        _ => None,
    };
    // From the right, so that a less important column never stays in place of a more important one.
    while total(&*columns) > width_max {
        let least = columns.iter().enumerate().filter_map(|(n, it)| Some((rank(it)?, n))).max();
        match least {
            Some((_, n)) => columns.remove(n),
            None => break,
        };
    }
    // The widest column shrinks first, down to its minimum.
    while total(&*columns) > width_max {
        let can_shrink =
            |it: &&mut Fitted| matches!(it.column.fit, Fit::Cut(least) if it.width > least);
        match columns.iter_mut().filter(can_shrink).max_by_key(|it| it.width) {
            Some(widest) => widest.width -= 1,
            None => break,
        }
    }
}

/// Writes cells, each with its text's width and its column's. No spaces follow the last text.
fn write_line(out: &mut impl Write, cells: Vec<(String, usize, usize)>) -> io::Result<()> {
    let mut line = String::new();
    let mut padding = 0;
    for (text, taken, width_max) in cells {
        if taken > 0 {
            line.extend(std::iter::repeat_n(' ', padding));
            line.push_str(&text);
            padding = width_max.saturating_sub(taken) + GAP;
        } else {
            padding += width_max + GAP;
        }
    }
    writeln!(out, "{line}")
}

/// Writes an item: a line for each field that it has.
pub(crate) fn write_fields(
    out: &mut impl Write,
    columns: &[Column],
    item: &Value,
    screen: Screen,
) -> io::Result<()> {
    let shown: Vec<(&Column, String, String)> = columns
        .iter()
        .filter(|column| column.fit != Fit::CsvOnly)
        // The full time names its zone, so the heading needn't.
        .map(|column| {
            (column, column.head.replace(" (UTC)", "").to_lowercase(), column.exact(item))
        })
        .filter(|(_, _, text)| !text.is_empty())
        .collect();
    let names = shown.iter().map(|(_, name, _)| width(name)).max().unwrap_or(0);
    for (column, name, text) in shown {
        let gap = " ".repeat(names - width(&name) + GAP);
        let text = paint(screen, column, &harmless(&text));
        writeln!(out, "{}{gap}{text}", screen.heading(&name))?;
    }
    Ok(())
}
