//! HMAC-SHA-256 of something short, at the price of two blocks.
//!
//! A batch takes four of these for every access, and an answer that shows its passwords two. The library that does
//! everything else copies and wipes a context of its own each time, which takes longer than the digest. Here the
//! two blocks that hold the key are digested once, and each text only adds its own.

use aws_lc_rs::constant_time;
use sha2::block_api::compress256;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Bytes that SHA-256 takes at a time.
const BLOCK: usize = 64;

/// What ends the last block: how long the text is, in bits.
const LENGTH: usize = 8;

/// How far SHA-256 has come.
type State = [u32; 8];

/// Where SHA-256 begins (FIPS 180-4, 5.3.3).
const BEGINNING: State = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// A key, ready for use.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct MacKey {
    inner: State,
    outer: State,
}

impl MacKey {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        Self { inner: keyed(key, 0x36), outer: keyed(key, 0x5c) }
    }

    /// The code of a text under this key.
    #[inline]
    pub(crate) fn sign(&self, text: &[u8]) -> [u8; 32] {
        behind_one_block(self.outer, &behind_one_block(self.inner, text))
    }

    /// Whether this is the code of the text. How much of a wrong one is right shows in no time that it takes.
    pub(crate) fn verify(&self, text: &[u8], code: &[u8; 32]) -> bool {
        constant_time::verify_slices_are_equal(&self.sign(text), code).is_ok()
    }
}

fn keyed(key: &[u8; 32], pad: u8) -> State {
    let mut block = [pad; BLOCK];
    block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
    let mut state = BEGINNING;
    compress256(&mut state, &[block]);
    block.zeroize();
    state
}

/// The digest of a block that is digested already, and of a text behind it.
#[inline(always)]
fn behind_one_block(mut state: State, text: &[u8]) -> [u8; 32] {
    let (whole, rest) = text.as_chunks::<BLOCK>();
    if !whole.is_empty() {
        compress256(&mut state, whole);
    }
    let mut last = [0; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    last[rest.len()] = 0x80;
    if rest.len() >= BLOCK - LENGTH {
        compress256(&mut state, &[last]);
        last = [0; BLOCK];
    }
    let n_bits = (BLOCK + text.len()) as u64 * 8;
    last[BLOCK - LENGTH..].copy_from_slice(&n_bits.to_be_bytes());
    compress256(&mut state, &[last]);
    let mut digest = [0; 32];
    let words = digest.as_chunks_mut::<4>().0;
    words.iter_mut().zip(state).for_each(|(bytes, word)| *bytes = word.to_be_bytes());
    digest
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::hmac;

    use super::*;
    use crate::random;

    #[test]
    fn codes_are_those_of_the_library_at_every_length() {
        for _ in 0..20 {
            let (key, text): ([u8; 32], [u8; 300]) = (random::bytes(), random::bytes());
            let (ours, theirs) = (MacKey::new(&key), hmac::Key::new(hmac::HMAC_SHA256, &key));
            for n_bytes in 0..=text.len() {
                let text = &text[..n_bytes];
                let code = ours.sign(text);
                assert_eq!(code, hmac::sign(&theirs, text).as_ref(), "{n_bytes} bytes");
                assert!(ours.verify(text, &code));
            }
        }
    }

    #[test]
    fn a_code_is_of_its_key_and_text_alone() {
        let key = MacKey::new(&[7; 32]);
        let code = key.sign(b"text");
        assert!(!key.verify(b"texts", &code));
        assert!(!MacKey::new(&[8; 32]).verify(b"text", &code));
        for bit in 0..256 {
            let mut bent = code;
            bent[bit / 8] ^= 1 << (bit % 8);
            assert!(!key.verify(b"text", &bent), "bit {bit}");
        }
    }
}
