//! Tables as text (RFC 4180), safe to open in a spreadsheet.

/// What makes a spreadsheet take a cell for a formula, when it stands at its beginning.
const FORMULA: [char; 7] = ['=', '+', '-', '@', '\t', '\r', '\n'];

/// Adds a row. The first row of a table has the names of its columns.
///
/// A cell that a spreadsheet would run gets a `'` in front, which spreadsheets take for «this is text».
pub fn write_row<'c>(table: &mut Vec<u8>, cells: impl IntoIterator<Item = &'c str>) {
    for (n, cell) in cells.into_iter().enumerate() {
        if n > 0 {
            table.push(b',');
        }
        write_cell(table, cell);
    }
    table.extend_from_slice(b"\r\n");
}

fn write_cell(table: &mut Vec<u8>, cell: &str) {
    let guard = if cell.starts_with(FORMULA) { "'" } else { "" };
    if !cell.contains(['"', ',', '\r', '\n']) {
        table.extend_from_slice(guard.as_bytes());
        table.extend_from_slice(cell.as_bytes());
        return;
    }
    table.push(b'"');
    table.extend_from_slice(guard.as_bytes());
    table.extend_from_slice(cell.replace('"', "\"\"").as_bytes());
    table.push(b'"');
}

#[cfg(test)]
mod tests;
