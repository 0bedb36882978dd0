//! Rows as bytes, equal for both databases: input of checksums, and format of a watermark.
//!
//! A value is a byte for its type, followed by the eight bytes of a number, or by the length of a text in eight bytes
//! and the text itself. So different rows of a table have different encodings.

use crate::db::Cell;

const NULL: u8 = 0;
const INTEGER: u8 = 1;
const TEXT: u8 = 2;
const BYTES: u8 = 3;

/// Appends values to `out`.
pub(super) fn write(cells: &[Cell], out: &mut Vec<u8>) {
    for cell in cells {
        match cell {
            Cell::Null => out.push(NULL),
            Cell::Integer(value) => {
                out.push(INTEGER);
                out.extend_from_slice(&value.to_be_bytes());
            }
            Cell::Text(value) => write_long(TEXT, value.as_bytes(), out),
            Cell::Bytes(value) => write_long(BYTES, value, out),
        }
    }
}

fn write_long(kind: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
    out.extend_from_slice(bytes);
}

/// Parses values that [`write()`] has written; `None` for other bytes.
pub(super) fn read(mut bytes: &[u8]) -> Option<Vec<Cell>> {
    let mut cells = Vec::new();
    while let Some((kind, rest)) = bytes.split_first() {
        if *kind == NULL {
            cells.push(Cell::Null);
            bytes = rest;
            continue;
        }
        let (number, rest) = rest.split_first_chunk::<8>()?;
        if *kind == INTEGER {
            cells.push(Cell::Integer(i64::from_be_bytes(*number)));
            bytes = rest;
            continue;
        }
        let length = usize::try_from(u64::from_be_bytes(*number)).ok()?;
        let (value, rest) = rest.split_at_checked(length)?;
        cells.push(match *kind {
            TEXT => Cell::Text(String::from_utf8(value.to_vec()).ok()?),
            BYTES => Cell::Bytes(value.to_vec()),
            _ => return None,
        });
        bytes = rest;
    }
    Some(cells)
}
