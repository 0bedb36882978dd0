//! Showing what a server said: as a table for people, as JSON and CSV for programs.
//!
//! `noun.rs` of each command says which columns there are ([`Column`]); `table` fits them to the terminal, `csv` writes
//! them all.

pub(crate) mod csv;
pub(crate) mod table;

use std::io::{self, BufWriter, Stdout, Write};

use clap::ValueEnum;
use serde::Deserialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::terminal::screen::Screen;
use table::Table;

/// In what form something is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Form {
    /// For people: fits the terminal, and leaves out what doesn't
    Table,
    /// For programs: what the server said
    Json,
    /// For spreadsheets: every column
    Csv,
}

/// A column of a list.
pub(crate) struct Column {
    /// What a table calls it.
    pub(crate) head: &'static str,
    /// What CSV calls it.
    pub(crate) name: &'static str,
    content: Content,
    pub(crate) room: Room,
}

/// What stands in a column.
enum Content {
    /// The field of the column's name.
    Text,
    /// The same, which is a time.
    Time,
    /// What is made of the whole thing.
    Made(fn(&Value) -> String),
    /// The same, which is a time.
    MadeTime(fn(&Value) -> String),
}

/// What becomes of a column where there is little room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// It stays whole: people copy it.
    Whole,
    /// It stays, and its cells may be cut, down to so many columns.
    Cut(usize),
    /// It is there if it fits; the lowest of these numbers comes first.
    IfLeft(u8),
    /// It is in CSV alone.
    Never,
}

impl Column {
    /// The field of this name.
    pub(crate) const fn text(head: &'static str, name: &'static str, room: Room) -> Self {
        Self { head, name, content: Content::Text, room }
    }

    /// The time of this name.
    pub(crate) const fn time(head: &'static str, name: &'static str, room: Room) -> Self {
        Self { head, name, content: Content::Time, room }
    }

    /// What is made of the whole thing.
    pub(crate) const fn made(
        head: &'static str,
        name: &'static str,
        make: fn(&Value) -> String,
        room: Room,
    ) -> Self {
        Self { head, name, content: Content::Made(make), room }
    }

    /// The time that is made of the whole thing.
    pub(crate) const fn made_time(
        head: &'static str,
        name: &'static str,
        make: fn(&Value) -> String,
        room: Room,
    ) -> Self {
        Self { head, name, content: Content::MadeTime(make), room }
    }

    /// The same, with another claim to room.
    pub(crate) const fn with_room(self, room: Room) -> Self {
        Self { room, ..self }
    }

    /// What stands there, exactly.
    pub(crate) fn exact(&self, item: &Value) -> String {
        match self.content {
            Content::Text | Content::Time => text(item, self.name),
            Content::Made(make) | Content::MadeTime(make) => make(item),
        }
    }

    /// What stands there, as short as people like it: times to the minute.
    pub(crate) fn short(&self, item: &Value) -> String {
        let exact = self.exact(item);
        match self.content {
            Content::Time | Content::MadeTime(_) => minute(&exact),
            Content::Text | Content::Made(_) => exact,
        }
    }
}

/// A time as people read it: to the minute, in UTC.
pub(crate) fn minute(time: &str) -> String {
    time.get(..16).unwrap_or(time).replace('T', " ")
}

/// The text of a field, or nothing.
pub(crate) fn text(item: &Value, name: &str) -> String {
    match item.get(name) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// A list that is shown as it comes.
pub(crate) struct Listing {
    form: Form,
    out: BufWriter<Stdout>,
    columns: &'static [Column],
    table: Option<Table>,
    screen: Screen,
    n_shown: usize,
}

impl Listing {
    pub(crate) fn new(form: Form, columns: &'static [Column]) -> Self {
        let out = BufWriter::new(io::stdout());
        Self { form, out, columns, table: None, screen: Screen::stdout(), n_shown: 0 }
    }

    /// Shows some more. The first of them say how wide a table's columns are.
    pub(crate) fn show(&mut self, items: &[Value]) -> Result<(), Failure> {
        match self.form {
            _ if items.is_empty() => {}
            Form::Table => {
                if self.table.is_none() {
                    let table = Table::fit(self.columns, items, self.screen);
                    table.write_head(&mut self.out)?;
                    self.table = Some(table);
                }
                if let Some(table) = &self.table {
                    items.iter().try_for_each(|item| table.write_row(&mut self.out, item))?;
                }
            }
            Form::Json => {
                for (n, item) in items.iter().enumerate() {
                    let between = if self.n_shown + n == 0 { "[\n  " } else { ",\n  " };
                    write!(self.out, "{between}{}", self.screen.json(&item.to_string()))?;
                }
            }
            Form::Csv => {
                if self.n_shown == 0 {
                    csv::write_head(&mut self.out, self.columns)?;
                }
                items.iter().try_for_each(|item| {
                    csv::show_row(&mut self.out, self.columns, item, self.screen)
                })?;
            }
        }
        self.n_shown += items.len();
        self.out.flush()?;
        Ok(())
    }

    /// So many were shown.
    pub(crate) fn n_shown(&self) -> usize {
        self.n_shown
    }

    /// Ends it. An empty list is a list, too.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        match self.form {
            Form::Table => {}
            Form::Json if self.n_shown == 0 => self.out.write_all(b"[]\n")?,
            Form::Json => self.out.write_all(b"\n]\n")?,
            Form::Csv if self.n_shown == 0 => csv::write_head(&mut self.out, self.columns)?,
            Form::Csv => {}
        }
        self.out.flush()?;
        Ok(())
    }
}

/// Shows one thing: every field that it has on a line of its own, or as it is.
pub(crate) fn show_one(
    form: Form,
    columns: &'static [Column],
    item: &Value,
) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout());
    let screen = Screen::stdout();
    match form {
        Form::Table => table::write_fields(&mut out, columns, item, screen)?,
        Form::Json => writeln!(out, "{}", screen.json(&format!("{item:#}")))?,
        Form::Csv => {
            csv::write_head(&mut out, columns)?;
            csv::show_row(&mut out, columns, item, screen)?;
        }
    }
    out.flush()?;
    Ok(())
}
