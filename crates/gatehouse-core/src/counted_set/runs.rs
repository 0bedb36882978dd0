//! The members of a part: runs of consecutive numbers, and the few bytes that they are stored in.
//!
//! A part is written in the shortest of three ways. Which one it is depends on the members alone:
//!
//! | way | bytes | shortest for |
//! |---|---|---|
//! | gaps | the distance of each member to the one before | scattered members |
//! | runs | the distance of each run to the one before, and its length | long runs |
//! | bitmap | the first member, and a bit for each number from there on | a mixture |
//!
//! Distances and lengths are varints: seven bits in a byte, the lowest first, and the eighth bit says that more follow.

use super::GROUP_NUMBERS;

/// Most bytes of a stored part. A row of a part stays below 1,000 bytes, so that PostgreSQL keeps it in its page.
pub const PART_BYTES_MAX: usize = 800;

/// Consecutive members: the first one, and the number behind the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// First member.
    pub start: u32,
    /// Number behind the last member.
    pub end: u32,
}

impl Run {
    /// Number of members.
    pub fn len(self) -> u32 {
        self.end - self.start
    }

    /// Whether the run has no members, as no run of a part has.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// Members of a group, as positions in it: runs in order, with a gap between any two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs(Vec<Run>);

/// Bytes that are not a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the bytes of a part")]
pub struct InvalidPart;

/// One member to add or to remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberChange {
    /// Position in the group.
    pub offset: u32,
    /// Whether the number becomes a member, or stops being one.
    pub is_member: bool,
}

/// Result of changing members: how many were added and removed. A change that changes nothing doesn't count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeCount {
    /// Number of added members.
    pub n_added: u32,
    /// Number of removed members.
    pub n_removed: u32,
}

#[derive(Clone, Copy, PartialEq)]
enum Encoding {
    Gaps = 1,
    Runs = 2,
    Bitmap = 3,
}

impl Runs {
    /// Runs of these members, which are in order and without duplicates.
    pub fn of_sorted(members: impl IntoIterator<Item = u32>) -> Self {
        let mut runs = Self::default();
        members.into_iter().for_each(|it| runs.push(Run { start: it, end: it + 1 }));
        runs
    }

    /// The runs, in order.
    pub fn runs(&self) -> &[Run] {
        &self.0
    }

    /// Number of members.
    pub fn len(&self) -> u32 {
        self.0.iter().map(|run| run.len()).sum()
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The members, in order.
    pub fn members(&self) -> impl Iterator<Item = u32> {
        self.0.iter().flat_map(|run| run.start..run.end)
    }

    /// Adds a run behind all others, which it may touch.
    fn push(&mut self, run: Run) {
        match self.0.last_mut() {
            _ if run.is_empty() => {}
            Some(last) if last.end == run.start => last.end = run.end,
            _ => self.0.push(run),
        }
    }

    /// Changes members. The changes are in order of their offsets, each offset once.
    pub fn change(&mut self, changes: &[MemberChange]) -> ChangeCount {
        let mut count = ChangeCount::default();
        let mut changed = Self(Vec::with_capacity(self.0.len() + changes.len()));
        let mut changes = changes.iter().copied().peekable();
        let add_before = |changed: &mut Self, count: &mut ChangeCount, change: MemberChange| {
            if change.is_member {
                changed.push(Run { start: change.offset, end: change.offset + 1 });
                count.n_added += 1;
            }
        };
        for mut run in std::mem::take(&mut self.0) {
            while let Some(change) = changes.next_if(|it| it.offset < run.end) {
                if change.offset < run.start {
                    add_before(&mut changed, &mut count, change);
                } else if !change.is_member {
                    changed.push(Run { start: run.start, end: change.offset });
                    run.start = change.offset + 1;
                    count.n_removed += 1;
                }
            }
            changed.push(run);
        }
        changes.for_each(|change| add_before(&mut changed, &mut count, change));
        *self = changed;
        count
    }

    /// Adds all members of runs that come behind these.
    pub fn append(&mut self, behind: &Self) {
        behind.0.iter().for_each(|run| self.push(*run));
    }

    /// Cuts the runs into pieces whose bytes fit into a part each. The pieces are of about the same size; but where
    /// `is_growing_at_end`, the first ones are as large as they may be, because nothing more will be added to them.
    pub fn pieces(self, is_growing_at_end: bool) -> Vec<Self> {
        if self.bytes().1 <= PART_BYTES_MAX {
            return vec![self];
        }
        // A run of many members can be the whole part, so two runs at least are left here.
        let n_first = match is_growing_at_end {
            false => self.0.len() / 2,
            true => self.largest_start(),
        };
        let (first, rest) = self.0.split_at(n_first);
        let (first, rest) = (Self(first.to_vec()), Self(rest.to_vec()));
        [first, rest].into_iter().flat_map(|it| it.pieces(is_growing_at_end)).collect()
    }

    /// Number of runs at the start that fit into a part. All runs together don't.
    fn largest_start(&self) -> usize {
        let fits = |n: usize| Self(self.0[..n].to_vec()).bytes().1 <= PART_BYTES_MAX;
        let (mut low, mut high) = (1, self.0.len());
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if fits(middle) { low = middle } else { high = middle }
        }
        low
    }

    /// The shortest encoding, and its length.
    fn bytes(&self) -> (Encoding, usize) {
        let (mut gaps, mut runs, mut end) = (1, 1, 0);
        for run in &self.0 {
            let distance = varint_bytes(run.start - end);
            // Members that follow one another have a distance of zero.
            gaps += distance + run.len() as usize - 1;
            runs += distance + varint_bytes(run.len() - 1);
            end = run.end;
        }
        let first = self.0.first().map_or(0, |run| run.start);
        let bitmap = 1 + varint_bytes(first) + (end - first).div_ceil(8) as usize;
        let all = [(Encoding::Gaps, gaps), (Encoding::Runs, runs), (Encoding::Bitmap, bitmap)];
        all.into_iter().min_by_key(|(_, n)| *n).unwrap_or((Encoding::Gaps, gaps))
    }

    /// Number of bytes that the runs are stored in.
    pub fn n_bytes(&self) -> usize {
        self.bytes().1
    }

    /// The bytes to store.
    pub fn encode(&self) -> Vec<u8> {
        let (encoding, n_bytes) = self.bytes();
        let mut bytes = Vec::with_capacity(n_bytes);
        bytes.push(encoding as u8);
        let mut end = 0;
        match encoding {
            Encoding::Gaps => {
                for run in &self.0 {
                    put_varint(&mut bytes, run.start - end);
                    bytes.resize(bytes.len() + run.len() as usize - 1, 0);
                    end = run.end;
                }
            }
            Encoding::Runs => {
                for run in &self.0 {
                    put_varint(&mut bytes, run.start - end);
                    put_varint(&mut bytes, run.len() - 1);
                    end = run.end;
                }
            }
            Encoding::Bitmap => {
                let first = self.0.first().map_or(0, |run| run.start);
                put_varint(&mut bytes, first);
                let begin = bytes.len();
                bytes.resize(n_bytes, 0);
                for offset in self.members().map(|it| (it - first) as usize) {
                    bytes[begin + offset / 8] |= 1 << (offset % 8);
                }
            }
        }
        bytes
    }

    /// Reads stored bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, InvalidPart> {
        let mut runs = Self::default();
        read(bytes, |run| runs.push(run))?;
        Ok(runs)
    }
}

/// Reads the runs of stored bytes, in order. Two of them may touch.
fn read(bytes: &[u8], mut add: impl FnMut(Run)) -> Result<(), InvalidPart> {
    let (encoding, mut rest) = bytes.split_first().ok_or(InvalidPart)?;
    let mut end = 0;
    match *encoding {
        it if it == Encoding::Gaps as u8 => {
            while !rest.is_empty() {
                let run = run_at(end, take_varint(&mut rest)?, 1)?;
                add(run);
                end = run.end;
            }
        }
        it if it == Encoding::Runs as u8 => {
            while !rest.is_empty() {
                let run = take_run(end, &mut rest)?;
                add(run);
                end = run.end;
            }
        }
        it if it == Encoding::Bitmap as u8 => {
            let mut at = take_varint(&mut rest)?;
            for byte in rest {
                let mut bits = u32::from(*byte);
                let mut offset = at;
                while bits != 0 {
                    let n_skipped = bits.trailing_zeros();
                    let n = (bits >> n_skipped).trailing_ones();
                    add(run_at(offset, n_skipped, n)?);
                    offset += n_skipped + n;
                    bits >>= n_skipped + n;
                }
                at = at.checked_add(8).ok_or(InvalidPart)?;
            }
        }
        _ => return Err(InvalidPart),
    }
    Ok(())
}

/// A run of `len` members at a distance from the end of the one before. Checked, since stored bytes may be damaged.
fn run_at(end: u32, distance: u32, len: u32) -> Result<Run, InvalidPart> {
    let start = end.checked_add(distance).ok_or(InvalidPart)?;
    let end = start.checked_add(len).ok_or(InvalidPart)?;
    let is_inside = u64::from(end) <= GROUP_NUMBERS && len > 0;
    is_inside.then_some(Run { start, end }).ok_or(InvalidPart)
}

/// Takes a run that is stored as its distance from the end of the one before, and its length.
fn take_run(end: u32, bytes: &mut &[u8]) -> Result<Run, InvalidPart> {
    let (distance, len) = (take_varint(bytes)?, take_varint(bytes)?);
    run_at(end, distance, len.checked_add(1).ok_or(InvalidPart)?)
}

fn varint_bytes(n: u32) -> usize {
    (32 - (n | 1).leading_zeros()).div_ceil(7) as usize
}

fn put_varint(bytes: &mut Vec<u8>, mut n: u32) {
    while n >= 0x80 {
        bytes.push(n as u8 | 0x80);
        n >>= 7;
    }
    bytes.push(n as u8);
}

#[inline]
fn take_varint(bytes: &mut &[u8]) -> Result<u32, InvalidPart> {
    if let [byte @ ..0x80, rest @ ..] = *bytes {
        *bytes = rest;
        return Ok(u32::from(*byte));
    }
    let mut n = 0;
    // No position in a group needs more than three bytes.
    for shift in [0, 7, 14] {
        let (byte, rest) = bytes.split_first().ok_or(InvalidPart)?;
        *bytes = rest;
        n |= u32::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(n);
        }
    }
    Err(InvalidPart)
}

mod into_bitmap;
#[cfg(test)]
mod tests;
