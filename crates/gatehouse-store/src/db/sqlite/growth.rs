//! Reads the new part of a file back from the device.
//!
//! A device may have less room than it says: an image on a full disk, a thin volume in a full pool. Then a write to a
//! new part of a file fails, and some devices (Linux's loop devices) report a partial write as complete. Existing parts
//! are overwritten in place and are safe. So each new part is read once from the device, past the page cache, and
//! compared with the page cache. A process that takes over a log doesn't know which of its pages are in new parts, and
//! compares all of them.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::slice;

use rustix::fs::OFlags;

/// Alignment of direct reads, in memory and in the file.
const ALIGNED: usize = 4096;

/// Comparisons before differing bytes count as lost.
const COMPARISONS: usize = 5;

/// Bytes compared at a time.
const CHUNK: usize = 256 * 1024;

/// The device that the database's file is on.
pub(super) trait Device: Send {
    /// Flushes the file's data.
    fn flush(&self) -> io::Result<()>;

    /// Whether everything that the file has grown by since the last call is on the device. It must have been flushed,
    /// and nothing may be writing it.
    fn is_on_device(&mut self) -> io::Result<bool>;

    /// Whether these parts of the file are on the device. Parts beyond the end of the file are ignored.
    fn are_on_device(&mut self, parts: &[Range<u64>]) -> io::Result<bool>;
}

/// A file, and how much of it has been read back.
pub(super) struct Growth {
    /// The file through the page cache. Kept open: closing a database's file would release every lock that SQLite has
    /// on it.
    cached: File,
    /// The file past the page cache; `None` where the file system has no direct reads.
    on_device: Option<File>,
    /// Length that has been read back.
    n_bytes: u64,
}

impl Growth {
    /// Assumes that the present content of the file is on the device.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let cached = File::open(path)?;
        let n_bytes = cached.metadata()?.len();
        let direct = i32::try_from(OFlags::DIRECT.bits()).unwrap_or_default();
        let on_device = OpenOptions::new().read(true).custom_flags(direct).open(path).ok();
        Ok(Self { cached, on_device, n_bytes })
    }

    /// Assumes that nothing of the file is on the device.
    pub(super) fn from_nothing(path: &Path) -> io::Result<Self> {
        Ok(Self { n_bytes: 0, ..Self::of(path)? })
    }

    /// Whether the new part up to this length is on the device. Another process may be writing behind it.
    pub(super) fn is_on_device_up_to(&mut self, n_bytes: u64) -> io::Result<bool> {
        let there = self.cached.metadata()?.len();
        if there < self.n_bytes {
            // Another process has truncated the file, so all of it is new.
            self.n_bytes = 0;
        }
        let n_bytes = n_bytes.min(there);
        if n_bytes <= self.n_bytes {
            return Ok(true);
        }
        let is_there = self.compare(slice::from_ref(&(self.n_bytes..n_bytes)))?;
        if is_there {
            self.n_bytes = n_bytes;
        }
        Ok(is_there)
    }

    /// Whether device and page cache agree in these parts, or the file system can't tell.
    fn compare(&mut self, parts: &[Range<u64>]) -> io::Result<bool> {
        let Some(on_device) = &self.on_device else { return Ok(true) };
        // Another process may checkpoint, and write in between.
        let is_same = || same(&self.cached, on_device, parts);
        match (0..COMPARISONS).find_map(|_| Some(is_same()).filter(|it| !matches!(it, Ok(false)))) {
            None => Ok(false),
            // The file system has no direct reads, or another alignment.
            Some(Err(cause)) if cause.kind() == io::ErrorKind::InvalidInput => {
                self.on_device = None;
                Ok(true)
            }
            Some(compared) => compared,
        }
    }
}

impl Device for Growth {
    fn flush(&self) -> io::Result<()> {
        self.cached.sync_data()
    }

    fn is_on_device(&mut self) -> io::Result<bool> {
        self.is_on_device_up_to(u64::MAX)
    }

    fn are_on_device(&mut self, parts: &[Range<u64>]) -> io::Result<bool> {
        let there = self.cached.metadata()?.len();
        let parts = parts.iter().map(|part| part.start..part.end.min(there));
        let parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
        self.compare(&parts)
    }
}

/// Whether two views of a file agree in these parts.
fn same(cached: &File, on_device: &File, parts: &[Range<u64>]) -> io::Result<bool> {
    let mut room = [vec![0; CHUNK + ALIGNED], vec![0; CHUNK + ALIGNED]];
    let [one, other] = room.each_mut().map(|room| {
        let start = room.as_ptr().align_offset(ALIGNED);
        &mut room[start..start + CHUNK]
    });
    for part in parts {
        let mut at = part.start - part.start % ALIGNED as u64;
        while at < part.end {
            let n_bytes = usize::try_from(part.end - at).unwrap_or(CHUNK).min(CHUNK);
            let n_read = n_bytes.next_multiple_of(ALIGNED);
            let n_one = read_at(cached, &mut one[..n_read], at)?;
            let n_other = read_at(on_device, &mut other[..n_read], at)?;
            if n_one.min(n_other) < n_bytes || one[..n_bytes] != other[..n_bytes] {
                return Ok(false);
            }
            at += n_bytes as u64;
        }
    }
    Ok(true)
}

/// Reads until the buffer is full or the file ends.
fn read_at(file: &File, into: &mut [u8], at: u64) -> io::Result<usize> {
    let mut n_read = 0;
    while n_read < into.len() {
        match file.read_at(&mut into[n_read..], at + n_read as u64) {
            Ok(0) => break,
            Ok(n) => n_read += n,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            // At the end of the file, where the next read would not be aligned.
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
    fn new_parts_of_a_file_are_compared_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, b"begin").unwrap();
        let mut growth = Growth::of(&path).unwrap();
        for n_bytes in [6, 4096, 4097, 700_000] {
            std::fs::write(&path, vec![7; n_bytes]).unwrap();
            File::open(&path).unwrap().sync_all().unwrap();
            assert!(growth.is_on_device().unwrap());
        }
        // From here on, the device holds another file.
        let other = dir.path().join("other");
        std::fs::write(&other, vec![0; 800_000]).unwrap();
        growth.on_device = Some(File::open(&other).unwrap());
        assert!(growth.is_on_device().unwrap(), "what was looked at is not looked at again");
        std::fs::write(&path, vec![7; 800_000]).unwrap();
        assert!(growth.is_on_device_up_to(700_000).unwrap());
        assert!(!growth.is_on_device_up_to(700_001).unwrap());
        assert!(!growth.is_on_device().unwrap());
        // Another process truncates the file and writes it again.
        std::fs::write(&path, vec![7; 5000]).unwrap();
        assert!(!growth.is_on_device().unwrap());
    }

    #[test]
    fn parts_are_compared_as_far_as_the_file_has_them() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("file"), dir.path().join("other"));
        std::fs::write(&path, vec![7; 300_000]).unwrap();
        let mut lost = vec![7; 300_000];
        lost[200_000] = 0;
        std::fs::write(&other, lost).unwrap();
        let mut growth = Growth::of(&path).unwrap();
        growth.on_device = Some(File::open(&other).unwrap());
        assert!(growth.are_on_device(&[0..4096, 204_800..400_000, 400_000..500_000]).unwrap());
        assert!(!growth.are_on_device(&[0..4096, 196_608..200_704]).unwrap());
    }

    #[test]
    fn differences_are_found_anywhere() {
        let dir = tempfile::tempdir().unwrap();
        let open = |name: &str, bytes: &[u8]| {
            std::fs::write(dir.path().join(name), bytes).unwrap();
            File::open(dir.path().join(name)).unwrap()
        };
        let whole = vec![7; 700_000];
        let cached = open("cached", &whole);
        for at in [5000, 262_144, 699_999] {
            let mut other = whole.clone();
            other[at] = 0;
            let other = open("other", &other);
            assert!(!same(&cached, &other, slice::from_ref(&(5000..700_000))).unwrap(), "{at}");
            assert!(same(&cached, &other, slice::from_ref(&(0..at as u64))).unwrap(), "{at}");
        }
        let short = open("short", &whole[..600_000]);
        assert!(!same(&cached, &short, slice::from_ref(&(5000..700_000))).unwrap());
    }
}
