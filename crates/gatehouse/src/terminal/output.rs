//! Output of results: a table for people, JSON and CSV for programs.
//!
//! Each command defines its columns ([`Column`]); `table` fits them to the terminal, `csv` writes them all.

pub(crate) mod csv;
pub(crate) mod table;

use std::io::{self, BufWriter, Stdout, Write};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::Failure;
use crate::terminal::screen::Screen;
use table::Table;

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OutputFormat {
    /// For people: fits the terminal, and leaves out what doesn't fit
    Table,
    /// For programs: the server's response
    Json,
    /// For spreadsheets: every column
    Csv,
}

/// Output format of commands without a list.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum TableOrJson {
    /// For people
    Table,
    /// For programs
    Json,
}

/// Prints indented JSON.
pub(crate) fn print_json(body: &impl Serialize) -> Result<(), String> {
    let text = serde_json::to_string_pretty(body);
    println!("{}", text.map_err(|cause| format!("can't be shown as JSON: {cause}"))?);
    Ok(())
}

pub(crate) struct Column {
    /// Heading in a table.
    pub(crate) head: &'static str,
    /// Name in CSV and JSON.
    pub(crate) name: &'static str,
    content: Content,
    pub(crate) fit: Fit,
}

/// Where a column's text comes from.
enum Content {
    /// The field with the column's name.
    Text,
    /// The field with the column's name, a time.
    Time,
    /// A function of the whole item.
    Computed(fn(&Value) -> String),
    /// A function of the whole item that returns a time.
    ComputedTime(fn(&Value) -> String),
}

/// A column's behaviour on a narrow terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// Stays whole: people copy it.
    Whole,
    /// Stays; its cells may be cut down to this many characters.
    Cut(usize),
    /// Shown if it fits; lower ranks first.
    Optional(u8),
    /// Only in CSV.
    CsvOnly,
}

impl Column {
    pub(crate) const fn text(head: &'static str, name: &'static str, fit: Fit) -> Self {
        Self { head, name, content: Content::Text, fit }
    }

    pub(crate) const fn time(head: &'static str, name: &'static str, fit: Fit) -> Self {
        Self { head, name, content: Content::Time, fit }
    }

    /// A text computed from the whole item.
    pub(crate) const fn computed(
        head: &'static str,
        name: &'static str,
        compute: fn(&Value) -> String,
        fit: Fit,
    ) -> Self {
        Self { head, name, content: Content::Computed(compute), fit }
    }

    /// A time computed from the whole item.
    pub(crate) const fn computed_time(
        head: &'static str,
        name: &'static str,
        compute: fn(&Value) -> String,
        fit: Fit,
    ) -> Self {
        Self { head, name, content: Content::ComputedTime(compute), fit }
    }

    /// The column with another fit.
    pub(crate) const fn with_fit(self, fit: Fit) -> Self {
        Self { fit, ..self }
    }

    /// The full text.
    pub(crate) fn exact(&self, item: &Value) -> String {
        match self.content {
            Content::Text | Content::Time => text(item, self.name),
            Content::Computed(compute) | Content::ComputedTime(compute) => compute(item),
        }
    }

    /// The short text: times to the minute.
    pub(crate) fn short(&self, item: &Value) -> String {
        let exact = self.exact(item);
        match self.content {
            Content::Time | Content::ComputedTime(_) => minute(&exact),
            Content::Text | Content::Computed(_) => exact,
        }
    }
}

/// A time to the minute, in UTC.
pub(crate) fn minute(time: &str) -> String {
    time.get(..16).unwrap_or(time).replace('T', " ")
}

/// A time to the second, in UTC.
pub(crate) fn second(time: &str) -> String {
    time.get(..19).unwrap_or(time).replace('T', " ")
}

/// A field's text; empty if it is missing.
pub(crate) fn text(item: &Value, name: &str) -> String {
    match item.get(name) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// A list that is shown page by page.
pub(crate) struct Listing {
    format: OutputFormat,
    out: BufWriter<Stdout>,
    columns: &'static [Column],
    table: Option<Table>,
    screen: Screen,
    n_shown: usize,
}

impl Listing {
    pub(crate) fn new(format: OutputFormat, columns: &'static [Column]) -> Self {
        let out = BufWriter::new(io::stdout());
        Self { format, out, columns, table: None, screen: Screen::stdout(), n_shown: 0 }
    }

    /// Shows more items. The first ones decide the width of a table's columns.
    pub(crate) fn show(&mut self, items: &[Value]) -> Result<(), Failure> {
        match self.format {
            _ if items.is_empty() => {}
            OutputFormat::Table => {
                if self.table.is_none() {
                    let table = Table::fit(self.columns, items, self.screen);
                    table.write_head(&mut self.out)?;
                    self.table = Some(table);
                }
                if let Some(table) = &self.table {
                    items.iter().try_for_each(|item| table.write_row(&mut self.out, item))?;
                }
            }
            OutputFormat::Json => {
                for (n, item) in items.iter().enumerate() {
                    let between = if self.n_shown + n == 0 { "[\n  " } else { ",\n  " };
                    write!(self.out, "{between}{}", self.screen.json(&item.to_string()))?;
                }
            }
            OutputFormat::Csv => {
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

    pub(crate) fn n_shown(&self) -> usize {
        self.n_shown
    }

    /// Ends the output. An empty list is written as one.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        match self.format {
            OutputFormat::Table => {}
            OutputFormat::Json if self.n_shown == 0 => self.out.write_all(b"[]\n")?,
            OutputFormat::Json => self.out.write_all(b"\n]\n")?,
            OutputFormat::Csv if self.n_shown == 0 => csv::write_head(&mut self.out, self.columns)?,
            OutputFormat::Csv => {}
        }
        self.out.flush()?;
        Ok(())
    }
}

/// Shows one item: a line for each field, or the item in the other formats.
pub(crate) fn show_one(
    format: OutputFormat,
    columns: &'static [Column],
    item: &Value,
) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout());
    let screen = Screen::stdout();
    match format {
        OutputFormat::Table => table::write_fields(&mut out, columns, item, screen)?,
        OutputFormat::Json => writeln!(out, "{}", screen.json(&format!("{item:#}")))?,
        OutputFormat::Csv => {
            csv::write_head(&mut out, columns)?;
            csv::show_row(&mut out, columns, item, screen)?;
        }
    }
    out.flush()?;
    Ok(())
}
