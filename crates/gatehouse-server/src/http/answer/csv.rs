//! CSV (RFC 4180) that is safe to open in a spreadsheet.

/// First characters that make a spreadsheet read a cell as a formula.
const FORMULA: [char; 7] = ['=', '+', '-', '@', '\t', '\r', '\n'];

/// One cell.
#[derive(Clone, Copy, Debug)]
pub enum Cell<'c> {
    /// A text. One that a spreadsheet would run as a formula gets a `'` in front, which marks text in spreadsheets.
    Text(&'c str),
    /// A username or password, exactly as a device has to send it.
    Credential(&'c str),
}

impl<'c> From<&'c str> for Cell<'c> {
    fn from(text: &'c str) -> Self {
        Self::Text(text)
    }
}

impl<'c> Cell<'c> {
    /// A cell of the column with this name.
    pub fn of_column(name: &str, text: &'c str) -> Self {
        match name {
            "username" | "password" => Self::Credential(text),
            _ => Self::Text(text),
        }
    }

    fn write(self, table: &mut Vec<u8>) {
        let (guard, text) = match self {
            Self::Text(text) if text.starts_with(FORMULA) => ("'", text),
            Self::Text(text) | Self::Credential(text) => ("", text),
        };
        if !text.contains(['"', ',', '\r', '\n']) {
            table.extend_from_slice(guard.as_bytes());
            table.extend_from_slice(text.as_bytes());
            return;
        }
        table.push(b'"');
        table.extend_from_slice(guard.as_bytes());
        table.extend_from_slice(text.replace('"', "\"\"").as_bytes());
        table.push(b'"');
    }
}

/// Appends a row. The first row of a table has the column names.
pub fn write_row<'c>(table: &mut Vec<u8>, cells: impl IntoIterator<Item: Into<Cell<'c>>>) {
    for (n, cell) in cells.into_iter().enumerate() {
        if n > 0 {
            table.push(b',');
        }
        cell.into().write(table);
    }
    table.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests;
