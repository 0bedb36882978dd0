//! Tables that users write: CSV with commas, semicolons or tabs, and with line numbers for errors.

use csv::StringRecord;

use crate::failure::Failure;

/// A row, with the line that it begins on.
pub(crate) struct Row {
    pub(crate) line: u64,
    pub(crate) cells: StringRecord,
}

/// A line behind a table. It is a row of its own unless a quotation mark before it is not closed.
const END: &str = "\u{1}end";

/// All rows of a table, without empty lines. A table with a quotation mark that is not closed is refused: all lines
/// behind it would be one cell.
pub(crate) fn read_rows(source: &str, text: &str) -> Result<Vec<Row>, Failure> {
    // The CSV reader takes a line of spaces as a row.
    let first = text.split(['\r', '\n']).find(|line| !line.is_empty()).unwrap_or_default();
    let with_end = format!("{text}\n{END}");
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(separator(first))
        .flexible(true)
        .has_headers(false)
        .from_reader(with_end.as_bytes());
    let mut lines = Lines { text: text.as_bytes(), at: 0, line: 1 };
    let mut rows = Vec::new();
    for record in reader.records() {
        let cells =
            record.map_err(|bad| Failure::input(format!("{source} is not a table: {bad}")))?;
        if cells.iter().eq([END]) {
            return Ok(rows);
        }
        let at = cells.position().map_or(0, |position| position.byte());
        let line = lines.line_of(usize::try_from(at).unwrap_or(usize::MAX));
        // Some spreadsheets name the separator in the first line.
        if !(rows.is_empty() && first.starts_with(SEPARATOR_LINE) && is_separator_line(&cells)) {
            rows.push(Row { line, cells });
        }
    }
    let line = rows.last().map_or(1, |row| row.line);
    Err(Failure::input(format!(
        "{source}: the row on line {line} has a quotation mark that is not closed, so all lines behind it are one cell"
    )))
}

/// Beginning of a line that names the separator.
const SEPARATOR_LINE: &str = "sep=";

fn is_separator_line(cells: &StringRecord) -> bool {
    cells.get(0).is_some_and(|cell| cell.starts_with(SEPARATOR_LINE))
}

/// The separator: spreadsheets of some countries write semicolons, and some people tabs.
fn separator(first_line: &str) -> u8 {
    let count = |sign: u8| first_line.bytes().filter(|byte| *byte == sign).count();
    [b',', b';', b'\t'].into_iter().rev().max_by_key(|sign| count(*sign)).unwrap_or(b',')
}

/// Counts lines by `\n`. The CSV reader's own count is behind by one where lines end with `\r\n`.
struct Lines<'t> {
    text: &'t [u8],
    at: usize,
    line: u64,
}

impl Lines<'_> {
    /// The line of the row at this byte, after the line ends before it.
    fn line_of(&mut self, byte: usize) -> u64 {
        while let Some(it) = self.text.get(self.at) {
            if self.at >= byte && !matches!(it, b'\r' | b'\n') {
                break;
            }
            self.line += u64::from(*it == b'\n');
            self.at += 1;
        }
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_lines_that_an_editor_shows() {
        for (text, expected) in [
            ("a,b\n1,2\n3,4\n", [1, 2, 3]),
            ("a,b\r\n1,2\r\n3,4\r\n", [1, 2, 3]),
            ("a;b\r\n\r\n1;2\r\n\r\n\r\n3;4", [1, 3, 6]),
            ("\n\na\tb\n\"1\n1\"\t2\n3\t4\n", [3, 4, 6]),
            ("sep=;\r\na;b\r\n1;2\r\n3;4\r\n", [2, 3, 4]),
        ] {
            let rows = read_rows("t", text).unwrap();
            assert!(rows.iter().all(|row| row.cells.len() == 2), "{text:?}");
            let lines: Vec<u64> = rows.iter().map(|row| row.line).collect();
            assert_eq!(lines, expected, "{text:?}");
        }
    }

    #[test]
    fn a_quotation_mark_that_is_not_closed_is_refused() {
        let fault = |text| read_rows("t", text).err().map(|it| it.to_string());
        for (text, line) in [
            ("a,b\n1,2\n\"3,4\n5,6\n", 3),
            ("a,b\r\n1,\"2\r\n", 2),
            ("a,b\n1,\"2", 2),
            ("\"", 1),
            ("a,b\n5\" pipe,\"2\n3,4", 2),
        ] {
            let expected =
                format!("t: the row on line {line} has a quotation mark that is not closed");
            let fault = fault(text).unwrap_or_default();
            assert!(fault.starts_with(&expected), "{text:?}: {fault}");
        }
        for fine in [
            "",
            "\n\n",
            "a,b\n5\" pipe,2\n3,4\n",
            "a,b\n1,\"two\nlines\"\n",
            "a,b\n5\" pipe,\"two\nlines\"",
            "a,b\r1,\"\"",
        ] {
            assert_eq!(fault(fine), None, "{fine:?}");
        }
    }

    #[test]
    fn the_first_row_decides_the_separator() {
        let n_cells = |text| -> Vec<usize> {
            read_rows("t", text).unwrap().iter().map(|row| row.cells.len()).collect()
        };
        assert_eq!(n_cells("a;b\r1;2\r"), [2, 2]);
        assert_eq!(n_cells("\n\na;b\n1,2\n"), [2, 1]);
        assert_eq!(n_cells(" \na;b\n"), [1, 1], "a line of spaces is a row");
    }
}
