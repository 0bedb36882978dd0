use super::*;
use proptest::prelude::*;

fn row(cells: &[&str]) -> String {
    let mut table = Vec::new();
    write_row(&mut table, cells.iter().copied());
    String::from_utf8(table).unwrap()
}

/// Parses a table by RFC 4180.
fn read(table: &str) -> Vec<Vec<String>> {
    let (mut rows, mut cells, mut cell) = (Vec::new(), Vec::new(), String::new());
    let (mut chars, mut is_quoted) = (table.chars().peekable(), false);
    while let Some(c) = chars.next() {
        match c {
            '"' if !is_quoted => is_quoted = true,
            '"' if chars.next_if_eq(&'"').is_some() => cell.push('"'),
            '"' => is_quoted = false,
            ',' if !is_quoted => cells.push(std::mem::take(&mut cell)),
            '\r' if !is_quoted => {
                assert_eq!(chars.next(), Some('\n'), "a row ends with CR LF");
                cells.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut cells));
            }
            c => cell.push(c),
        }
    }
    assert!(cells.is_empty() && cell.is_empty() && !is_quoted, "the last row ends with CR LF too");
    rows
}

#[test]
fn cells_are_quoted_where_they_must_be() {
    for (cells, text) in [
        (&["id", "username", "password"][..], "id,username,password\r\n"),
        (&["a", "", "c"], "a,,c\r\n"),
        (&["", ""], ",\r\n"),
        (&["a b", "é🛰", "semi;colon"], "a b,é🛰,semi;colon\r\n"),
        (&["a,b", "say \"x\"", "\""], "\"a,b\",\"say \"\"x\"\"\",\"\"\"\"\r\n"),
        (&["two\nlines", "two\r\nlines", "a\rb"], "\"two\nlines\",\"two\r\nlines\",\"a\rb\"\r\n"),
    ] {
        assert_eq!(row(cells), text);
    }
}

#[test]
fn a_formula_becomes_text() {
    for (cell, text) in [
        ("=1+1", "'=1+1\r\n"),
        ("+49", "'+49\r\n"),
        ("-1", "'-1\r\n"),
        ("@SUM(A1)", "'@SUM(A1)\r\n"),
        ("\tx", "'\tx\r\n"),
        ("\rx", "\"'\rx\"\r\n"),
        ("=HYPERLINK(\"x\",1)", "\"'=HYPERLINK(\"\"x\"\",1)\"\r\n"),
        ("a=1", "a=1\r\n"),
        ("2027-03-01", "2027-03-01\r\n"),
        ("'=1", "'=1\r\n"),
    ] {
        assert_eq!(row(&[cell]), text, "{cell:?}");
    }
}

#[test]
fn a_credential_is_written_unchanged() {
    let mut table = Vec::new();
    let cells = ["=1+1", "-x", "@a", "+49", "\tx", "a\"b"].map(Cell::Credential);
    write_row(&mut table, cells);
    assert_eq!(String::from_utf8(table).unwrap(), "=1+1,-x,@a,+49,\tx,\"a\"\"b\"\r\n");
}

#[test]
fn only_username_and_password_columns_hold_credentials() {
    for (column, text) in [
        ("username", "=a\r\n"),
        ("password", "=a\r\n"),
        ("name", "'=a\r\n"),
        ("deviceName", "'=a\r\n"),
    ] {
        let mut table = Vec::new();
        write_row(&mut table, [Cell::of_column(column, "=a")]);
        assert_eq!(String::from_utf8(table).unwrap(), text, "{column}");
    }
}

proptest! {
    #[test]
    fn a_written_table_parses_to_the_same_cells(rows in prop::collection::vec(prop::collection::vec(any::<String>(), 1..5), 0..5)) {
        let mut table = Vec::new();
        for row in &rows {
            write_row(&mut table, row.iter().map(String::as_str));
        }
        let guarded = |cell: &String| match cell.starts_with(FORMULA) {
            true => format!("'{cell}"),
            false => cell.clone(),
        };
        let expected: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().map(guarded).collect()).collect();
        prop_assert_eq!(read(std::str::from_utf8(&table).unwrap()), expected);
    }
}
