//! Reading a part into the bitmap of its group.
//!
//! A list may read thousands of parts with scattered members or short runs. So they are not made into runs first, and
//! distances and lengths of one byte are taken without looking for more of their bytes.

use super::{Encoding, InvalidPart, Run, Runs, take_run, take_varint};
use crate::counted_set::bitmap::Bitmap;

/// The eighth bits of eight bytes: set where a varint has more bytes.
const CONTINUED: u64 = 0x8080_8080_8080_8080;

impl Runs {
    /// Adds the members of stored bytes to a bitmap of their group.
    pub fn decode_into(bytes: &[u8], bitmap: &mut Bitmap) -> Result<(), InvalidPart> {
        let (encoding, mut rest) = bytes.split_first().ok_or(InvalidPart)?;
        match *encoding {
            it if it == Encoding::Gaps as u8 => add_scattered(rest, bitmap),
            it if it == Encoding::Runs as u8 => add_runs(rest, bitmap),
            it if it == Encoding::Bitmap as u8 => {
                let first = take_varint(&mut rest)?;
                bitmap.insert_bits(first, rest).ok_or(InvalidPart)
            }
            _ => Err(InvalidPart),
        }
    }
}

/// Adds members that are stored as their distances.
fn add_scattered(mut bytes: &[u8], bitmap: &mut Bitmap) -> Result<(), InvalidPart> {
    let mut next = 0;
    while !bytes.is_empty() {
        match bytes.split_first_chunk() {
            Some((distances, behind)) if u64::from_le_bytes(*distances) & CONTINUED == 0 => {
                for distance in distances {
                    let member = next + u32::from(*distance);
                    bitmap.insert_one(member).ok_or(InvalidPart)?;
                    next = member + 1;
                }
                bytes = behind;
            }
            _ => {
                let member = next + take_varint(&mut bytes)?;
                bitmap.insert_one(member).ok_or(InvalidPart)?;
                next = member + 1;
            }
        }
    }
    Ok(())
}

/// Adds members that are stored as runs.
fn add_runs(mut bytes: &[u8], bitmap: &mut Bitmap) -> Result<(), InvalidPart> {
    let mut end = 0;
    while !bytes.is_empty() {
        if let [distance @ ..0x80, n_more @ ..64, behind @ ..] = bytes {
            let start = end + u32::from(*distance);
            end = start + u32::from(*n_more) + 1;
            bitmap.insert_short(Run { start, end }).ok_or(InvalidPart)?;
            bytes = behind;
        } else {
            let run = take_run(end, &mut bytes)?;
            bitmap.insert(run);
            end = run.end;
        }
    }
    Ok(())
}
