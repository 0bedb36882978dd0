//! New parts of the log, read back from the device with the commit that wrote them.
//!
//! A device that is full can lose the new part of a file (`growth`). Growing the log ahead of the commits, in larger
//! steps, made creations a sixth slower.

use std::io;
use std::path::{Path, PathBuf};

use super::files;
use super::growth::Growth;
use super::log_pages::{FRAME_HEADER_BYTES, LOG_HEADER_BYTES};

/// The log of a database, and how much of it has been read back.
pub(super) struct LogGrowth {
    log: PathBuf,
    page_bytes: u64,
    /// `None` before the first commit, and after the log was truncated.
    growth: Option<Growth>,
}

impl LogGrowth {
    pub(super) fn of(database: &Path, page_bytes: u64) -> Self {
        Self { log: files::log_of(database), page_bytes, growth: None }
    }

    /// Whether the first `n_pages` of the log are on the device. They must have been flushed.
    pub(super) fn is_on_device(&mut self, n_pages: i32) -> io::Result<bool> {
        if n_pages == 0 {
            return Ok(true);
        }
        let frame_bytes = FRAME_HEADER_BYTES + self.page_bytes;
        let n_bytes = LOG_HEADER_BYTES + u64::from(n_pages.unsigned_abs()) * frame_bytes;
        let growth = match &mut self.growth {
            Some(growth) => growth,
            none => none.insert(Growth::from_nothing(&self.log)?),
        };
        growth.is_on_device_up_to(n_bytes)
    }

    /// Resets the length after the log was truncated.
    pub(super) fn on_truncate(&mut self) {
        self.growth = None;
    }
}
