//! Tables as text (RFC 4180), with the same guard against formulas as the server's own.

use std::io::{self, Write};

use gatehouse_server::http::write_csv_row;
use serde_json::Value;

use super::Column;
use crate::screen::{Screen, harmless};

/// Writes the names of the columns.
pub(crate) fn write_head(out: &mut impl Write, columns: &[Column]) -> io::Result<()> {
    write_cells(out, columns.iter().map(|column| column.name))
}

/// Shows what one thing has in them. A terminal gets nothing that would steer it; everything else gets it as it is.
pub(crate) fn show_row(
    out: &mut impl Write,
    columns: &[Column],
    item: &Value,
    screen: Screen,
) -> io::Result<()> {
    if screen.width.is_none() {
        return write_row(out, columns, item);
    }
    let cells: Vec<String> =
        columns.iter().map(|column| harmless(&column.exact(item)).into_owned()).collect();
    write_cells(out, cells.iter().map(String::as_str))
}

/// Writes what one thing has in them.
pub(crate) fn write_row(out: &mut impl Write, columns: &[Column], item: &Value) -> io::Result<()> {
    let cells: Vec<String> = columns.iter().map(|column| column.exact(item)).collect();
    write_cells(out, cells.iter().map(String::as_str))
}

/// Writes a row.
fn write_cells<'c>(
    out: &mut impl Write,
    cells: impl IntoIterator<Item = &'c str>,
) -> io::Result<()> {
    let mut row = Vec::new();
    write_csv_row(&mut row, cells);
    out.write_all(&row)
}
