//! The members of several sets in one group, as bits: sets are combined 64 numbers at a time.

use super::GROUP_NUMBERS;
use super::runs::Run;

const WORDS: usize = (GROUP_NUMBERS / 64) as usize;

/// A bit for each number of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bitmap(Box<[u64; WORDS]>);

impl Default for Bitmap {
    fn default() -> Self {
        Self(Box::new([0; WORDS]))
    }
}

impl Bitmap {
    /// Adds a run of members, which is inside the group.
    pub fn insert(&mut self, run: Run) {
        self.each_word(run, |word, mask| *word |= mask);
    }

    /// Adds a member; `None` if it is not inside the group.
    #[inline]
    pub fn insert_one(&mut self, offset: u32) -> Option<()> {
        *self.0.get_mut(offset as usize / 64)? |= 1 << (offset % 64);
        Some(())
    }

    /// Adds the members from an offset on that bits stand for, the lowest bit of a byte first; `None` if one of them is
    /// not inside the group.
    pub fn insert_bits(&mut self, offset: u32, bits: &[u8]) -> Option<()> {
        let (at, shift) = (offset as usize / 64, offset % 64);
        let (words, rest) = bits.as_chunks();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        for (n, bytes) in words.iter().chain([&last]).enumerate() {
            let bits = u64::from_le_bytes(*bytes);
            let (low, high) = (bits << shift, bits.checked_shr(64 - shift).unwrap_or_default());
            for (at, bits) in [(at + n, low), (at + n + 1, high)] {
                match self.0.get_mut(at) {
                    Some(word) => *word |= bits,
                    None if bits != 0 => return None,
                    None => {}
                }
            }
        }
        Some(())
    }

    /// Removes a run of members, which is inside the group.
    pub fn remove(&mut self, run: Run) {
        self.each_word(run, |word, mask| *word &= !mask);
    }

    /// Removes all members.
    pub fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Whether a number is a member.
    pub fn contains(&self, offset: u32) -> bool {
        self.0[offset as usize / 64] >> (offset % 64) & 1 == 1
    }

    /// Adds the members of another bitmap.
    pub fn unite(&mut self, other: &Self) {
        self.0.iter_mut().zip(&*other.0).for_each(|(word, other)| *word |= other);
    }

    /// Keeps the members that another bitmap has, too.
    pub fn intersect(&mut self, other: &Self) {
        self.0.iter_mut().zip(&*other.0).for_each(|(word, other)| *word &= other);
    }

    /// Number of members.
    pub fn len(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// The members in order, without the first `n_skipped`, at most `n_max` of them.
    pub fn members(&self, n_skipped: u64, n_max: u64) -> Vec<u32> {
        let (mut to_skip, mut members) = (n_skipped, Vec::new());
        for (n, word) in self.0.iter().enumerate() {
            if members.len() as u64 >= n_max {
                break;
            }
            let n_ones = u64::from(word.count_ones());
            if to_skip >= n_ones {
                to_skip -= n_ones;
                continue;
            }
            let mut bits = *word;
            while bits != 0 && (members.len() as u64) < n_max {
                let bit = bits.trailing_zeros();
                bits &= bits - 1;
                if to_skip > 0 {
                    to_skip -= 1;
                } else {
                    members.push(n as u32 * 64 + bit);
                }
            }
        }
        members
    }

    fn each_word(&mut self, run: Run, mut change: impl FnMut(&mut u64, u64)) {
        let mut start = run.start;
        while start < run.end {
            let end = run.end.min((start / 64 + 1) * 64);
            let mask = (u64::MAX >> (64 - (end - start))) << (start % 64);
            change(&mut self.0[start as usize / 64], mask);
            start = end;
        }
    }
}

#[cfg(test)]
mod tests;
