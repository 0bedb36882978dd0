//! Rows as bytes, the same whichever database they came from: what checksums are made of, and what a mark
//! keeps.
//!
//! A value is a byte that says what it is, then a number's eight bytes, or the length of a text in eight
//! bytes and the text itself. So no two rows of a table are written alike.

use crate::db::Cell;

const NULL: u8 = 0;
const INTEGER: u8 = 1;
const TEXT: u8 = 2;
const BYTES: u8 = 3;

/// Writes values behind what is there.
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

/// Reads values as [`write()`] wrote them; `None` when they were not.
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
