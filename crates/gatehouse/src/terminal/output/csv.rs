//! CSV (RFC 4180), with the server's guard against formulas.

use std::io::{self, Write};

use gatehouse_server::http::{CsvCell, write_csv_row};
use serde_json::Value;

use super::Column;
use crate::terminal::screen::{Screen, harmless};

pub(crate) fn write_head(out: &mut impl Write, columns: &[Column]) -> io::Result<()> {
    write_cells(out, columns.iter().map(|column| CsvCell::Text(column.name)))
}

/// Shows an item's row. A terminal gets no control characters; other outputs get the text as it is.
pub(crate) fn show_row(
    out: &mut impl Write,
    columns: &[Column],
    item: &Value,
    screen: Screen,
) -> io::Result<()> {
    if screen.width.is_none() {
        return write_row(out, columns, item);
    }
    let cells = columns.iter().map(|column| harmless(&column.exact(item)).into_owned());
    write_texts(out, columns, cells)
}

pub(crate) fn write_row(out: &mut impl Write, columns: &[Column], item: &Value) -> io::Result<()> {
    write_texts(out, columns, columns.iter().map(|column| column.exact(item)))
}

/// Writes a row with a text for each column.
fn write_texts(
    out: &mut impl Write,
    columns: &[Column],
    texts: impl Iterator<Item = String>,
) -> io::Result<()> {
    let texts: Vec<String> = texts.collect();
    let named = columns.iter().zip(&texts);
    write_cells(out, named.map(|(column, text)| CsvCell::of_column(column.name, text)))
}

fn write_cells<'c>(
    out: &mut impl Write,
    cells: impl IntoIterator<Item = CsvCell<'c>>,
) -> io::Result<()> {
    let mut row = Vec::new();
    write_csv_row(&mut row, cells);
    out.write_all(&row)
}

#[cfg(test)]
mod tests {
    use super::super::Fit;
    use super::*;
    use serde_json::json;

    #[test]
    fn a_credential_is_written_unchanged() {
        let columns =
            ["username", "password", "deviceName"].map(|name| Column::text("", name, Fit::Whole));
        let item = json!({"username": "=a", "password": "-b", "deviceName": "@c"});
        let mut table = Vec::new();
        write_head(&mut table, &columns).unwrap();
        write_row(&mut table, &columns, &item).unwrap();
        let expected = "username,password,deviceName\r\n=a,-b,'@c\r\n";
        assert_eq!(String::from_utf8(table).unwrap(), expected);
    }
}
