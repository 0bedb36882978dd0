//! Tables that fit the terminal.
//!
//! What people copy stays whole, what is long is cut, what doesn't fit is left out; the other forms have all of it. Where
//! output is no terminal, nothing is cut.

use std::io::{self, Write};

use serde_json::Value;

use super::{Column, Room};
use crate::terminal::screen::{Screen, cut, harmless, status_style, width};

/// Between two columns.
const GAP: usize = 2;

/// Columns that were fitted to a terminal.
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
            // What nobody has is worth no column on a terminal; programs count on all of them.
            let is_shown = match column.room {
                Room::Never => false,
                Room::IfLeft(_) => widest > 0 || screen.width.is_none(),
                Room::Whole | Room::Cut(_) => true,
            };
            is_shown.then(|| Fitted { column, width: widest.max(width(column.head)) })
        };
        let mut fitted: Vec<Fitted> = columns.iter().filter_map(fit).collect();
        if let Some(room) = screen.width {
            shrink(&mut fitted, room);
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
            let is_cut = self.screen.width.is_some() && it.column.room != Room::Whole;
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

/// Makes columns fit: leaves out what needn't be there, and then cuts what may be cut.
fn shrink(columns: &mut Vec<Fitted>, room: usize) {
    let rank = |it: &Fitted| match it.column.room {
        Room::IfLeft(rank) => Some(rank),
        _ => None,
    };
    // The last go first, so that what is less important never stays in place of what is more.
    while total(&*columns) > room {
        let least = columns.iter().enumerate().filter_map(|(n, it)| Some((rank(it)?, n))).max();
        match least {
            Some((_, n)) => columns.remove(n),
            None => break,
        };
    }
    // The widest gives first, as long as it may.
    while total(&*columns) > room {
        let may_give =
            |it: &&mut Fitted| matches!(it.column.room, Room::Cut(least) if it.width > least);
        match columns.iter_mut().filter(may_give).max_by_key(|it| it.width) {
            Some(widest) => widest.width -= 1,
            None => break,
        }
    }
}

/// Writes cells, each with the columns that it takes and those that it has. Nothing stands behind the last.
fn write_line(out: &mut impl Write, cells: Vec<(String, usize, usize)>) -> io::Result<()> {
    let mut line = String::new();
    let mut owed = 0;
    for (text, taken, room) in cells {
        if taken > 0 {
            line.extend(std::iter::repeat_n(' ', owed));
            line.push_str(&text);
            owed = room.saturating_sub(taken) + GAP;
        } else {
            owed += room + GAP;
        }
    }
    writeln!(out, "{line}")
}

/// Writes one thing: a line for each field that it has.
pub(crate) fn write_fields(
    out: &mut impl Write,
    columns: &[Column],
    item: &Value,
    screen: Screen,
) -> io::Result<()> {
    let shown: Vec<(&Column, String, String)> = columns
        .iter()
        .filter(|column| column.room != Room::Never)
        // Beside a whole time, its zone needs no saying.
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
