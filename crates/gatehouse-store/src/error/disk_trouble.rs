//! What is wrong with the disk under the embedded store.

use std::fmt;

/// What is wrong with the embedded store's disk, for whoever asks whether it is ready. The causes are in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskTrouble {
    /// A write met an I/O error: nothing more is written, and the process is about to end.
    Stopped,
    /// A check has found that the database is damaged.
    Damaged,
    /// A read met an I/O error or a damaged page.
    Unreadable,
    /// There is no room: writes are refused until there is.
    Full,
    /// A write takes too long.
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
