//! The durable image of a file; reads see the cached one.

use gatehouse_testing::SeededRandom;

/// Bytes that a disk writes whole or not at all.
const SECTOR: usize = 512;

/// A change of a file that is not flushed.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Truncate { size: usize },
}

/// The durable image of a file, and its unflushed changes.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    /// Flushed content; `None` where not even the file's name is durable.
    durable: Option<Vec<u8>>,
    /// Changes since the last flush, in order.
    pending: Vec<Change>,
}

impl Image {
    /// Image of a file that exists, or is about to be created.
    pub(crate) fn of(found: Option<Vec<u8>>) -> Self {
        Self { durable: found, pending: Vec::new() }
    }

    pub(crate) fn change(&mut self, change: Change) {
        self.pending.push(change);
    }

    /// Makes all changes durable.
    pub(crate) fn flush(&mut self) {
        let durable = self.durable.get_or_insert_default();
        self.pending.drain(..).for_each(|change| change.apply_to(durable));
    }

    /// Makes some changes durable, and loses the others for good.
    pub(crate) fn fail_to_flush(&mut self, random: &mut SeededRandom) {
        let durable = self.durable.get_or_insert_default();
        for change in self.pending.drain(..) {
            if random.roll(2) == 0 {
                change.apply_to(durable);
            }
        }
    }

    /// Content after a power cut: some unflushed changes are there, torn or whole, in any order.
    pub(crate) fn after_power_cut(&self, random: &mut SeededRandom) -> Option<Vec<u8>> {
        let is_there = self.durable.is_some() || (!self.pending.is_empty() && random.roll(2) == 0);
        let mut found = is_there.then(|| self.durable.clone().unwrap_or_default())?;
        for change in &self.pending {
            match random.roll(3) {
                0 => {}
                1 => change.apply_to(&mut found),
                _ => change.apply_torn(&mut found, random),
            }
        }
        Some(found)
    }

    /// Content after a complete write-back.
    pub(crate) fn after_reading_anew(&self) -> Option<Vec<u8>> {
        let mut whole = self.clone();
        if whole.durable.is_some() || !whole.pending.is_empty() {
            whole.flush();
        }
        whole.durable
    }
}

impl Change {
    fn apply_to(&self, file: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes } => put(file, *offset, bytes),
            Self::Truncate { size } => file.truncate(*size),
        }
    }

    /// Writes some sectors of the change.
    fn apply_torn(&self, file: &mut Vec<u8>, random: &mut SeededRandom) {
        let Self::Write { offset, bytes } = self else { return };
        let (mut at, end) = (*offset, offset + bytes.len());
        while at < end {
            // Sectors of the disk, not of the write.
            let next = ((at / SECTOR + 1) * SECTOR).min(end);
            if random.roll(2) == 0 {
                put(file, at, &bytes[at - offset..next - offset]);
            }
            at = next;
        }
    }
}

fn put(file: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if file.len() < end {
        file.resize(end, 0);
    }
    file[offset..end].copy_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(offset: usize, bytes: &[u8]) -> Change {
        Change::Write { offset, bytes: bytes.to_vec() }
    }

    #[test]
    fn flushed_writes_survive_and_others_may_not() {
        let mut image = Image::of(None);
        image.change(write(0, b"abc"));
        image.flush();
        image.change(write(3, b"def"));
        let mut random = SeededRandom(1);
        let found: Vec<_> = (0..50).filter_map(|_| image.after_power_cut(&mut random)).collect();
        assert_eq!(found.len(), 50, "the file is there");
        assert!(found.iter().all(|file| file.starts_with(b"abc")));
        assert!(
            found.iter().any(|file| file == b"abc") && found.iter().any(|file| file == b"abcdef")
        );
    }

    #[test]
    fn a_failed_flush_loses_writes_for_good() {
        let mut random = SeededRandom(2);
        let lost = (0..50).filter(|_| {
            let mut image = Image::of(Some(b"old".to_vec()));
            image.change(write(0, b"new"));
            image.fail_to_flush(&mut random);
            image.flush();
            image.after_reading_anew().is_some_and(|file| file == b"old")
        });
        assert!((10..40).contains(&lost.count()), "about half");
    }

    #[test]
    fn a_write_is_torn_where_sectors_end() {
        let (image, mut random) = (vec![0; 3 * SECTOR], SeededRandom(3));
        let change = write(100, &vec![1; 2 * SECTOR]);
        for _ in 0..50 {
            let mut torn = image.clone();
            change.apply_torn(&mut torn, &mut random);
            for sector in torn.chunks(SECTOR) {
                let n_ones = sector.iter().filter(|byte| **byte == 1).count();
                assert!([0, 100, SECTOR - 100, SECTOR].contains(&n_ones), "{n_ones}");
            }
        }
    }
}
