//! Troubles of the disk under the embedded store.

use std::fmt;

/// Why the embedded store is not ready, for health checks. The causes are in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskTrouble {
    /// A write got an I/O error: nothing more is written, and the process is about to exit.
    Stopped,
    /// A check has found damage.
    Damaged,
    /// A read got an I/O error or found a damaged page.
    Unreadable,
    /// The disk is full: writes are refused until there is room.
    Full,
    /// A write takes longer than a health check may.
    Stuck,
}

impl fmt::Display for DiskTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stopped => {
                "the disk failed while it was written to: the server stops, and checks the store when it starts again"
            }
            Self::Damaged => {
                "the database is damaged: restore a backup, with `gatehouse restore --from BACKUP`"
            }
            Self::Unreadable => {
                "a part of the database can't be read; look at the disk, and check the store with `gatehouse doctor --deep`"
            }
            Self::Full => "the disk is full: writes are refused until there is room",
            Self::Stuck => "the disk has not taken a write within a second",
        })
    }
}
