//! Reasons not to open an embedded database.

use std::fmt;
use std::path::PathBuf;

/// Why an embedded database is not opened. Each text tells the operator what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenRefused {
    /// The database is missing, though keys or a shutdown mark exist.
    Missing(PathBuf),
    /// The database is empty, though keys or a shutdown mark exist.
    Empty(PathBuf),
    /// The database is missing or empty, and its log holds committed writes.
    OnlyLog(PathBuf),
    /// The disk failed. A server checks the whole store before it writes; a command doesn't.
    DiskFailed(String),
    /// The disk failed, and another process still keeps the number of checkpointed pages in shared memory.
    InUse(Option<u32>),
    /// A check found damage.
    Damaged(String),
}

/// Advice for an operator whose database is lost.
const RESTORE: &str = "bring it back, or restore a backup with `gatehouse restore --from BACKUP`";

impl fmt::Display for OpenRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(path) => write!(
                f,
                "{} is missing, but what a store leaves is beside it (keys, or the mark of a server): {RESTORE}; to \
                 begin with an empty store, start with `gatehouse serve --start-empty`",
                path.display()
            ),
            Self::Empty(path) => write!(
                f,
                "{} is empty, but what a store leaves is beside it (keys, or the mark of a server): {RESTORE}; to \
                 begin with an empty store, start with `gatehouse serve --start-empty`",
                path.display()
            ),
            Self::OnlyLog(path) => write!(
                f,
                "{} is missing or empty, but its log (-wal) is there, with writes that were answered and that nothing \
                 else has: {RESTORE}; move the log away, and keep it, to go on without it",
                path.display()
            ),
            Self::DiskFailed(why) => write!(
                f,
                "the disk failed when a server last used the store ({why}): start `gatehouse serve`, which looks at \
                 all of it first"
            ),
            Self::InUse(process) => {
                f.write_str("the disk failed when a server last used the store, and ")?;
                match process {
                    Some(process) => write!(f, "the process {process} has it open")?,
                    None => f.write_str("a process of another container has it open")?,
                }
                f.write_str(": end that one, then start again")
            }
            Self::Damaged(what) => write!(
                f,
                "the database is damaged: {what}. Restore a backup with `gatehouse restore --from BACKUP`"
            ),
        }
    }
}
