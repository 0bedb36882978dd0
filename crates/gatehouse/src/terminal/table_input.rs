//! Tables that users write: CSV with commas, semicolons or tabs, and with line numbers for errors.

use csv::StringRecord;

use crate::failure::Failure;

/// A row, with the line that it begins on.
pub(crate) struct Row {
    pub(crate) line: u64,
    pub(crate) cells: StringRecord,
}

/// All rows of a table, without empty lines. A quotation mark that is missing is a fault: the CSV reader would take
/// the lines behind it for one cell.
pub(crate) fn read_rows(source: &str, text: &str) -> Result<Vec<Row>, Failure> {
    // The CSV reader takes a line of spaces as a row.
    let first = text.split(['\r', '\n']).find(|line| !line.is_empty()).unwrap_or_default();
    let separator = separator(first);
    if let Some(QuotationFault { line, what }) = quotation_fault(text.as_bytes(), separator) {
        return Err(Failure::input(format!("{source}, line {line}: {what}")));
    }
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(separator)
        .flexible(true)
        .has_headers(false)
        .from_reader(text.as_bytes());
    let mut lines = Lines { text: text.as_bytes(), at: 0, line: 1 };
    let mut rows = Vec::new();
    for record in reader.records() {
        let cells =
            record.map_err(|bad| Failure::input(format!("{source} is not a table: {bad}")))?;
        let at = cells.position().map_or(0, |position| position.byte());
        let line = lines.line_of(usize::try_from(at).unwrap_or(usize::MAX));
        // Some spreadsheets name the separator in the first line.
        if !(rows.is_empty() && first.starts_with(SEPARATOR_LINE) && is_separator_line(&cells)) {
            rows.push(Row { line, cells });
        }
    }
    Ok(rows)
}

/// A quoted cell that doesn't end where it should, and the line that it begins on.
struct QuotationFault {
    line: u64,
    what: &'static str,
}

/// The first quoted cell that is not closed, or has more text behind its end.
fn quotation_fault(text: &[u8], separator: u8) -> Option<QuotationFault> {
    let (mut rest, mut line) = (text, 1);
    loop {
        if let Some(mut quoted) = rest.strip_prefix(b"\"") {
            let begins_on = line;
            let fault = |what| Some(QuotationFault { line: begins_on, what });
            // Two quotation marks stand for one of the cell's own.
            loop {
                let Some(end) = quoted.iter().position(|byte| *byte == b'"') else {
                    return fault("a cell begins with a quotation mark that is not closed");
                };
                line += quoted[..end].iter().filter(|byte| **byte == b'\n').count() as u64;
                quoted = &quoted[end + 1..];
                match quoted.strip_prefix(b"\"") {
                    Some(behind) => quoted = behind,
                    None => break,
                }
            }
            if !quoted.first().is_none_or(|byte| [separator, b'\r', b'\n'].contains(byte)) {
                return fault("a quoted cell has more text behind its closing quotation mark");
            }
            rest = quoted;
        }
        // A quotation mark inside a cell is the cell's own.
        let end = rest.iter().position(|byte| [separator, b'\r', b'\n'].contains(byte))?;
        line += u64::from(rest[end] == b'\n');
        rest = &rest[end + 1..];
    }
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
    fn a_missing_quotation_mark_is_a_fault_on_the_line_of_its_cell() {
        let fault = |text| read_rows("t", text).err().map(|it| it.to_string());
        let (open, more) = ("that is not closed", "has more text behind");
        for (text, line, what) in [
            ("a,b\n1,2\n\"3,4\n5,6\n", 3, open),
            ("a,b\r\n1,\"2\r\n", 2, open),
            ("a,b\n1,\"2", 2, open),
            ("\"", 1, open),
            ("\"\"\"", 1, open),
            ("a,b\n5\" pipe,\"2\n3,4", 2, open),
            ("a,b\n1,\"pump\n2,\"meter\"\n", 2, more),
            ("a;b\n\"x\ny\";\"1\" ;\n", 3, more),
            ("\"a\"b\"c\",d", 1, more),
        ] {
            let fault = fault(text).unwrap_or_default();
            let is_named = fault.starts_with(&format!("t, line {line}: ")) && fault.contains(what);
            assert!(is_named, "{text:?}: {fault}");
        }
        for fine in [
            "",
            "\n\n",
            "a,b\n5\" pipe,2\n3,4\n",
            "a,b\n1,\"two\nlines\"\n",
            "a,b\n5\" pipe,\"two\nlines\"",
            "a;b\n\"1\";\"one \"\"word\"\"\"\r\n",
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
