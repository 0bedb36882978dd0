//! The log's new parts, read back from the device with the commit that wrote them.
//!
//! A file that grows can be lost on a device that is full (`growth`). Growing the log in larger steps, ahead of
//! the commits, made creations a sixth slower.

use std::io;
use std::path::{Path, PathBuf};

use super::files;
use super::growth::Growth;
use super::log_pages::{FRAME_HEADER_BYTES, LOG_HEADER_BYTES};

/// The log of a database, and how much of it has been read back.
pub(super) struct LogGrowth {
    log: PathBuf,
    page_bytes: u64,
    /// `None` before the first commit, and after the log was cut off.
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

    /// Forgets the log, which was cut off.
    pub(super) fn on_truncate(&mut self) {
        self.growth = None;
    }
}
