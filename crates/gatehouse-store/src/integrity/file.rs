//! The file itself: its header, its length, and the log beside it.
//!
//! The header is the first 100 bytes of page 1, and has the number of pages. Whether the file must have exactly that
//! length depends on the log (`-wal`), which holds pages that were written and are not in the file yet:
//!
//! - While the log has no valid frame, the file is the whole database. A checkpoint of the last frame cuts the file to
//!   its length and flushes it before the log may restart, so the length is exact.
//! - While the log has valid frames, page 1 of the file may be older or newer than its other pages: the newest may be
//!   in the log, and a checkpoint writes page 1 first. So the file may be shorter or longer than its own header says.
//!   The last commit in the log has the number of pages, which SQLite knows. Each page beyond the end of the file must
//!   be in the log: no more pages can be missing than the log has frames.
//!
//! The length is compared inside of a read transaction. It keeps the log from restarting while it reads from the log,
//! and keeps checkpoints off the file otherwise, so both rules hold while a server writes.

use std::cmp::Ordering;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::{Damage, Integrity};

const MAGIC: &[u8; 16] = b"SQLite format 3\0";

const HEADER_BYTES: usize = 100;

/// SQLite's smallest page size, and so the smallest size of a database.
const PAGE_BYTES_MIN: u64 = 512;

const PAGE_BYTES_MAX: u64 = 65_536;

/// The header's payload fractions, of which SQLite allows only these values.
const SHARES: [u8; 3] = [64, 32, 32];

/// UTF-8.
const ENCODING: u32 = 1;

const LOG_HEADER_BYTES: usize = 32;

const FRAME_HEADER_BYTES: usize = 24;

/// First bytes of a log; the last bit is the byte order of its checksums.
const LOG_MAGIC: u32 = 0x377f_0682;

/// The header of a database.
pub(super) struct Header {
    page_bytes: u64,
    n_pages: u64,
}

impl Header {
    /// Reads the header, without SQLite. An error is the result of the check.
    pub(super) fn read(path: &Path) -> Result<Self, Integrity> {
        let shown = path.display();
        let damaged = |what: String| Integrity::Damaged(Damage::new(what));
        let failed = |cause: std::io::Error| match cause.kind() {
            ErrorKind::PermissionDenied => Integrity::Unchecked(format!("{shown}: {cause}")),
            _ => damaged(format!("{shown} can't be read: {cause}")),
        };
        let file = match File::open(path) {
            Err(cause) if cause.kind() == ErrorKind::NotFound => {
                return Err(absent(path, format!("there is no file {shown}")));
            }
            other => other.map_err(failed)?,
        };
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Err(Integrity::Unchecked(format!("{shown} is not a file")));
        }
        let n_bytes = metadata.len();
        if n_bytes == 0 {
            return Err(absent(path, format!("{shown} is empty")));
        }
        if n_bytes < PAGE_BYTES_MIN {
            return Err(damaged(format!(
                "{shown} has {n_bytes} bytes, and a database has {PAGE_BYTES_MIN} at least"
            )));
        }
        let mut header = [0; HEADER_BYTES];
        file.read_exact_at(&mut header, 0).map_err(failed)?;
        Self::parse(&header).map_err(|what| damaged(format!("the header of {shown}: {what}")))
    }

    /// Reads the header's values through SQLite.
    pub(super) fn read_through(connection: &Connection) -> rusqlite::Result<Self> {
        let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        let page_bytes = number("PRAGMA page_size")?.unsigned_abs();
        Ok(Self { page_bytes, n_pages: number("PRAGMA page_count")?.unsigned_abs() })
    }

    fn parse(header: &[u8; HEADER_BYTES]) -> Result<Self, String> {
        if header.iter().all(|byte| *byte == 0) {
            return Err("there are zeros where a SQLite database begins".into());
        }
        if !header.starts_with(MAGIC) {
            return Err("it is not that of a SQLite database".into());
        }
        let page_bytes = match u16::from_be_bytes([header[16], header[17]]) {
            1 => PAGE_BYTES_MAX,
            other => other.into(),
        };
        if !page_bytes.is_power_of_two() || page_bytes < PAGE_BYTES_MIN {
            return Err(format!("pages can't have {page_bytes} bytes"));
        }
        let (write, read) = (header[18], header[19]);
        if !matches!((write, read), (1, 1) | (2, 2)) {
            return Err(format!("there is no format {write} for writing, {read} for reading"));
        }
        if header[21..24] != SHARES {
            return Err("the shares of a page that rows may take are not SQLite's".into());
        }
        // A database without an encoding has never been written.
        let encoding = word(header, 56);
        if encoding != ENCODING && encoding != 0 {
            return Err(format!("text is in encoding {encoding}, and gatehouse writes UTF-8"));
        }
        Ok(Self { page_bytes, n_pages: word(header, 28).into() })
    }
}

/// Result where there is no database: perhaps none was ever written, unless there is a log.
fn absent(path: &Path, what: String) -> Integrity {
    let log = log_of(path);
    match std::fs::metadata(&log) {
        Ok(it) if it.len() > LOG_HEADER_BYTES as u64 => Integrity::Damaged(Damage::new(format!(
            "{what}, but there is something in its log {}: keep that file, because SQLite deletes it as soon as \
             it opens the database",
            log.display()
        ))),
        _ => Integrity::Absent(what),
    }
}

fn log_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The log beside a database.
pub(super) struct Log {
    /// Whether the first frame is valid. If it isn't, none is.
    pub(super) has_frames: bool,
    /// Most frames that fit into the file; those at its end may date from before the log's restart.
    n_frames_max: u64,
}

impl Log {
    pub(super) fn read(path: &Path, database: &Header) -> std::io::Result<Self> {
        let nothing = Self { has_frames: false, n_frames_max: 0 };
        let mut file = match File::open(log_of(path)) {
            Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(nothing),
            other => other?,
        };
        let n_bytes = file.metadata()?.len();
        let frame_bytes = FRAME_HEADER_BYTES as u64 + database.page_bytes;
        let n_frames_max = n_bytes.saturating_sub(LOG_HEADER_BYTES as u64) / frame_bytes;
        if n_frames_max == 0 {
            return Ok(nothing);
        }
        let mut start = vec![0; LOG_HEADER_BYTES + frame_bytes as usize];
        file.read_exact(&mut start)?;
        let has_frames = first_frame_is_valid(&start, database.page_bytes);
        Ok(Self { has_frames, n_frames_max })
    }
}

/// Whether a log begins with a header and a frame with correct checksums, which SQLite requires to recover a log.
fn first_frame_is_valid(start: &[u8], page_bytes: u64) -> bool {
    let (header, frame) = start.split_at(LOG_HEADER_BYTES);
    let magic = word(header, 0);
    let is_big_endian = magic & 1 == 1;
    let (salts, frame_salts) = (&header[16..24], &frame[8..16]);
    let of_header = sum((0, 0), &header[..24], is_big_endian);
    let of_frame = sum(of_header, &frame[..8], is_big_endian);
    let of_frame = sum(of_frame, &frame[FRAME_HEADER_BYTES..], is_big_endian);
    magic & !1 == LOG_MAGIC
        && u64::from(word(header, 8)) == page_bytes
        && of_header == (word(header, 24), word(header, 28))
        && salts == frame_salts
        && of_frame == (word(frame, 16), word(frame, 20))
}

/// SQLite's checksum of a log: two numbers that continue from frame to frame.
fn sum(so_far: (u32, u32), bytes: &[u8], is_big_endian: bool) -> (u32, u32) {
    let read = |four: &[u8]| {
        let four = [four[0], four[1], four[2], four[3]];
        if is_big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
    };
    bytes.chunks_exact(8).fold(so_far, |(mut a, mut b), eight| {
        a = a.wrapping_add(read(&eight[..4])).wrapping_add(b);
        b = b.wrapping_add(read(&eight[4..])).wrapping_add(a);
        (a, b)
    })
}

/// Compares the file's length with the number of pages in the open read transaction; 0 where that is unknown.
pub(super) fn compare_length(path: &Path, header: &Header, n_pages: u64) -> Option<String> {
    let shown = path.display();
    let lengths = std::fs::metadata(path).and_then(|it| Ok((it.len(), Log::read(path, header)?)));
    let (n_bytes, log) = match lengths {
        Ok(lengths) => lengths,
        Err(cause) => return Some(format!("{shown} or its log can't be read: {cause}")),
    };
    let page_bytes = header.page_bytes;
    // The header's number counts too: SQLite may not use it, or report nothing. It is of a commit that is in the
    // database, and a database never shrinks.
    let n_pages = n_pages.max(header.n_pages);
    if log.has_frames {
        let n_frames = log.n_frames_max;
        return (n_pages > n_bytes / page_bytes + n_frames).then(|| {
            format!(
                "{shown} has {n_bytes} bytes and its log {n_frames} pages, and the database has {n_pages} pages of \
                 {page_bytes} bytes: a part of it is missing"
            )
        });
    }
    let expected = n_pages * page_bytes;
    let what = match n_bytes.cmp(&expected) {
        Ordering::Less => "a part of it is missing",
        Ordering::Equal => return None,
        Ordering::Greater => "something was added to it",
    };
    Some(format!("{shown} has {n_bytes} bytes, and by its header {expected}: {what}"))
}
