//! Reads the new part of a file back from the device.
//!
//! A device may have less room than it says: an image on a full disk, a thin volume in a full pool. Then it fails where a
//! file grows, and some of them (Linux's loop devices are) take a part of a write for all of it and tell nobody.
//! What was there before is written in its place and is safe. So the part that is new is read once from the device
//! itself, past the system's memory, and compared with what that holds.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// Reads past the system's memory begin and end at multiples of this, in memory and in the file.
const ALIGNED: usize = 4096;

/// How often what differs is looked at before it is lost.
const LOOKS: usize = 5;

/// As much as is compared at a time.
const CHUNK: usize = 256 * 1024;

/// The device that the database's file is on.
pub(super) trait Device: Send {
    /// Flushes the file's data.
    fn flush(&self) -> io::Result<()>;

    /// Whether all that the file has grown by since this was asked last is on the device. It must have been flushed, and
    /// nothing may be writing it.
    fn is_on_device(&mut self) -> io::Result<bool>;
}

/// A file that grows.
pub(super) struct Growth {
    /// The file through the page cache. Kept open: to close a database's file would let go of every lock that SQLite has on it.
    seen: File,
    /// The file past the page cache; `None` where the file system has no such reads.
    on_device: Option<File>,
    /// Length that has been read back.
    n_bytes: u64,
}

impl Growth {
    /// Takes a file as it is now to be on the device.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let seen = File::open(path)?;
        let n_bytes = seen.metadata()?.len();
        let direct = i32::try_from(OFlags::DIRECT.bits()).unwrap_or_default();
        let on_device = OpenOptions::new().read(true).custom_flags(direct).open(path).ok();
        Ok(Self { seen, on_device, n_bytes })
    }

    /// Takes nothing of a file to be on the device.
    pub(super) fn from_nothing(path: &Path) -> io::Result<Self> {
        Ok(Self { n_bytes: 0, ..Self::of(path)? })
    }

    /// Whether the new part up to this length is on the device: another process may be writing behind it.
    pub(super) fn is_on_device_up_to(&mut self, n_bytes: u64) -> io::Result<bool> {
        let there = self.seen.metadata()?.len();
        // It may have been cut off since.
        self.n_bytes = self.n_bytes.min(there);
        let n_bytes = n_bytes.min(there);
        let Some(on_device) = self.on_device.as_ref().filter(|_| n_bytes > self.n_bytes) else {
            return Ok(true);
        };
        // Others may move the log, too, and write in between.
        let is_same = || same(&self.seen, on_device, self.n_bytes..n_bytes);
        match (0..LOOKS).find_map(|_| Some(is_same()).filter(|it| !matches!(it, Ok(false)))) {
            None => return Ok(false),
            Some(Ok(_)) => self.n_bytes = n_bytes,
            // This file system has no such reads, or other rules for them.
            Some(Err(cause)) if cause.kind() == io::ErrorKind::InvalidInput => {
                self.on_device = None;
            }
            Some(Err(cause)) => return Err(cause),
        }
        Ok(true)
    }
}

impl Device for Growth {
    fn flush(&self) -> io::Result<()> {
        self.seen.sync_data()
    }

    fn is_on_device(&mut self) -> io::Result<bool> {
        self.is_on_device_up_to(u64::MAX)
    }
}

/// Whether two views of a file agree in this range.
fn same(seen: &File, on_device: &File, range: std::ops::Range<u64>) -> io::Result<bool> {
    let mut room = [vec![0; CHUNK + ALIGNED], vec![0; CHUNK + ALIGNED]];
    let [one, other] = room.each_mut().map(|room| {
        let start = room.as_ptr().align_offset(ALIGNED);
        &mut room[start..start + CHUNK]
    });
    let mut at = range.start - range.start % ALIGNED as u64;
    while at < range.end {
        let n_one = read_at(seen, one, at)?;
        let n_other = read_at(on_device, other, at)?;
        let n_bytes = usize::try_from(range.end - at).unwrap_or(CHUNK).min(CHUNK);
        if n_one.min(n_other) < n_bytes || one[..n_bytes] != other[..n_bytes] {
            return Ok(false);
        }
        at += CHUNK as u64;
    }
    Ok(true)
}

/// Reads until there is no room or no more.
fn read_at(file: &File, into: &mut [u8], at: u64) -> io::Result<usize> {
    let mut n_read = 0;
    while n_read < into.len() {
        match file.read_at(&mut into[n_read..], at + n_read as u64) {
            Ok(0) => break,
            Ok(n) => n_read += n,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            // At the file's end, where reads past the system's memory no longer begin where they must.
            Err(_) if n_read % ALIGNED != 0 => break,
            Err(cause) => return Err(cause),
        }
    }
    Ok(n_read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_has_grown_by_is_compared_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, b"begin").unwrap();
        let mut growth = Growth::of(&path).unwrap();
        for n_bytes in [6, 4096, 4097, 700_000] {
            std::fs::write(&path, vec![7; n_bytes]).unwrap();
            File::open(&path).unwrap().sync_all().unwrap();
            assert!(growth.is_on_device().unwrap());
        }
        // What the device has is another file, from here on.
        let other = dir.path().join("other");
        std::fs::write(&other, vec![0; 800_000]).unwrap();
        growth.on_device = Some(File::open(&other).unwrap());
        assert!(growth.is_on_device().unwrap(), "what was looked at is not looked at again");
        std::fs::write(&path, vec![7; 800_000]).unwrap();
        assert!(growth.is_on_device_up_to(700_000).unwrap());
        assert!(!growth.is_on_device_up_to(700_001).unwrap());
        assert!(!growth.is_on_device().unwrap());
    }

    #[test]
    fn what_differs_is_found_wherever_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let open = |name: &str, bytes: &[u8]| {
            std::fs::write(dir.path().join(name), bytes).unwrap();
            File::open(dir.path().join(name)).unwrap()
        };
        let whole = vec![7; 700_000];
        let seen = open("seen", &whole);
        for at in [5000, 262_144, 699_999] {
            let mut other = whole.clone();
            other[at] = 0;
            let other = open("other", &other);
            assert!(!same(&seen, &other, 5000..700_000).unwrap(), "{at}");
            assert!(same(&seen, &other, 0..at as u64).unwrap(), "{at}");
        }
        let short = open("short", &whole[..600_000]);
        assert!(!same(&seen, &short, 5000..700_000).unwrap());
    }
}
