//! Tables that fit the terminal.
//!
//! What people copy stays whole, what is long is cut, what doesn't fit is left out; the other forms have all of it. Where
//! output is no terminal, nothing is cut.

use std::io::{self, Write};

use serde_json::Value;

use super::{Column, Room};
use crate::screen::{Screen, cut, harmless, status_style, width};

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
        let natural = |column: &'static Column| {
            let cells = rows.iter().map(|row| width(&harmless(&(column.cell)(row))));
            cells.max().unwrap_or(0).max(width(column.head))
        };
        let mut fitted: Vec<Fitted> = columns
            .iter()
            .filter(|column| column.room != Room::Never)
            .map(|column| Fitted { column, width: natural(column) })
            // What nobody has is not worth a column, unless it always stands there.
            .filter(|it| {
                it.column.room != Room::IfLeft
                    || it.width > width(it.column.head)
                    || has_any(it.column, rows)
            })
            .collect();
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
            let text = (it.column.cell)(row);
            let text = harmless(&text);
            let is_cut = self.screen.width.is_some() && it.column.room != Room::Whole;
            let text = if is_cut { cut(&text, it.width) } else { text };
            let taken = width(&text);
            (paint(self.screen, it.column, &text), taken, it.width)
        };
        write_line(out, self.columns.iter().map(cell).collect())
    }
}

fn has_any(column: &Column, rows: &[Value]) -> bool {
    rows.iter().any(|row| !(column.cell)(row).is_empty())
}

fn paint(screen: Screen, column: &Column, text: &str) -> String {
    match column.head {
        "STATUS" | "STATE" => screen.paint(status_style(text), text),
        _ => text.to_owned(),
    }
}

fn total(columns: &[Fitted]) -> usize {
    columns.iter().map(|it| it.width).sum::<usize>() + GAP * columns.len().saturating_sub(1)
}

/// Makes columns fit: cuts those that may be cut, once those that needn't be there are gone.
fn shrink(columns: &mut Vec<Fitted>, room: usize) {
    let kept: Vec<bool> = columns.iter().map(|it| it.column.room != Room::IfLeft).collect();
    let mut is_shown = kept.clone();
    let sum = |columns: &[Fitted], is_shown: &[bool]| {
        let shown = columns.iter().zip(is_shown).filter(|(_, is_shown)| **is_shown);
        let widths: Vec<usize> = shown.map(|(it, _)| it.width).collect();
        widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
    };
    for n in 0..columns.len() {
        if !kept[n] {
            is_shown[n] = true;
            // The first that doesn't fit ends it: what is less important doesn't come before it.
            if sum(columns, &is_shown) > room {
                is_shown[n] = false;
                break;
            }
        }
    }
    let mut n = 0;
    columns.retain(|_| {
        n += 1;
        is_shown[n - 1]
    });
    // The widest gives first, as long as it may.
    while total(columns) > room {
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
    let shown: Vec<(&Column, String)> = columns
        .iter()
        .map(|column| (column, (column.cell)(item)))
        .filter(|(_, text)| !text.is_empty())
        .collect();
    let names = shown.iter().map(|(column, _)| width(column.head)).max().unwrap_or(0);
    for (column, text) in shown {
        let head = column.head.to_lowercase();
        let gap = " ".repeat(names - width(&head) + GAP);
        let text = paint(screen, column, &harmless(&text));
        writeln!(out, "{}{gap}{text}", screen.heading(&head))?;
    }
    Ok(())
}
