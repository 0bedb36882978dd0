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
        if run.start >= run.end {
            return;
        }
        let (first, last) = (run.start as usize / 64, (run.end - 1) as usize / 64);
        let (from, to) = (u64::MAX << (run.start % 64), u64::MAX >> (63 - (run.end - 1) % 64));
        if first == last {
            self.0[first] |= from & to;
            return;
        }
        self.0[first] |= from;
        self.0[first + 1..last].fill(u64::MAX);
        self.0[last] |= to;
    }

    /// Adds a member; `None` if it is not inside the group.
    #[inline]
    pub fn insert_one(&mut self, offset: u32) -> Option<()> {
        *self.0.get_mut(offset as usize / 64)? |= 1 << (offset % 64);
        Some(())
    }

    /// Adds a run of 1 to 64 members; `None` if it is not inside the group. Costs the same whether the run is in one
    /// word or in two.
    #[inline]
    pub fn insert_short(&mut self, run: Run) -> Option<()> {
        debug_assert!((1..=64).contains(&run.len()), "{run:?}");
        if u64::from(run.end) > GROUP_NUMBERS {
            return None;
        }
        let (at, shift) = (run.start as usize / 64, run.start % 64);
        let bits = u64::MAX >> (64 - run.len());
        // In two steps, because a word can't be shifted by 64. A run that ends in its first word has no bits for the
        // next one, which may be word 0.
        let (low, high) = (bits << shift, bits >> 1 >> (63 - shift));
        self.0[at % WORDS] |= low;
        self.0[(at + 1) % WORDS] |= high;
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

    /// Removes a member.
    pub fn remove_one(&mut self, offset: u32) {
        self.0[offset as usize / 64] &= !(1 << (offset % 64));
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

    /// Removes the members of another bitmap.
    pub fn subtract(&mut self, other: &Self) {
        self.0.iter_mut().zip(&*other.0).for_each(|(word, other)| *word &= !other);
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
}

#[cfg(test)]
mod tests;
