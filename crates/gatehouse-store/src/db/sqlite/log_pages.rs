//! The database's pages in a write-ahead log, found by the headers of its frames.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Length of the log's header.
pub(super) const LOG_HEADER_BYTES: u64 = 32;

/// Length of the header before each page in the log.
pub(super) const FRAME_HEADER_BYTES: u64 = 24;

/// Ranges of the database's file, in order, whose pages are in this log.
pub(super) fn parts_in_log(log: &Path) -> io::Result<Vec<Range<u64>>> {
    let log = match File::open(log) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened?,
    };
    let mut header = [0; LOG_HEADER_BYTES as usize];
    if !read_exactly(&log, &mut header, 0)? {
        return Ok(Vec::new());
    }
    let page_bytes = u64::from(number_at(&header, 8));
    let (mut numbers, mut at) = (BTreeSet::new(), LOG_HEADER_BYTES);
    let mut frame = [0; FRAME_HEADER_BYTES as usize];
    // Frames behind the last one belong to the log before its restart, and have another salt.
    while read_exactly(&log, &mut frame, at)? && frame[8..16] == header[16..24] {
        numbers.insert(u64::from(number_at(&frame, 0)));
        at += FRAME_HEADER_BYTES + page_bytes;
    }
    let mut parts: Vec<Range<u64>> = Vec::new();
    for number in numbers {
        let (start, end) = (number.saturating_sub(1) * page_bytes, number * page_bytes);
        match parts.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => parts.push(start..end),
        }
    }
    Ok(parts)
}

/// Big-endian number at this offset of a header.
fn number_at(header: &[u8], at: usize) -> u32 {
    header[at..at + 4].iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// Fills the buffer; false where the file ends before.
fn read_exactly(file: &File, into: &mut [u8], at: u64) -> io::Result<bool> {
    match file.read_exact_at(into, at) {
        Ok(()) => Ok(true),
        Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(cause) => Err(cause),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::slice;

    use rusqlite::Connection;

    #[test]
    fn the_pages_of_the_present_log_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let (path, log) = (dir.path().join("test.db"), dir.path().join("test.db-wal"));
        assert_eq!(parts_in_log(&log).unwrap(), []);
        let writer = Connection::open(&path).unwrap();
        let sql =
            "PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
            CREATE TABLE one (text TEXT); CREATE TABLE other (text TEXT)";
        writer.execute_batch(sql).unwrap();
        // The schema on the first page, and one page for each table.
        assert_eq!(parts_in_log(&log).unwrap(), slice::from_ref(&(0..3 * 4096)));
        let sql = "PRAGMA wal_checkpoint(RESTART); INSERT INTO other VALUES ('text')";
        writer.execute_batch(sql).unwrap();
        assert_eq!(parts_in_log(&log).unwrap(), slice::from_ref(&(2 * 4096..3 * 4096)));
        let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
        writer.execute_batch(sql).unwrap();
        assert_eq!(parts_in_log(&log).unwrap(), []);
    }
}
