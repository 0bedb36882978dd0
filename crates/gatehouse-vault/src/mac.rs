//! HMAC-SHA-256 of short texts, at the cost of two blocks.
//!
//! A batch computes four of these for every access, and a response with passwords two. The general library copies and
//! wipes a context each time, which takes longer than the digest. Here the two blocks with the key are digested once,
//! and each text adds only its own.

use aws_lc_rs::constant_time;
use sha2::block_api::compress256;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Bytes of a SHA-256 block.
const BLOCK: usize = 64;

/// Bytes of the text's length, at the end of the last block.
const LENGTH: usize = 8;

/// State of SHA-256.
type State = [u32; 8];

/// Initial state of SHA-256 (FIPS 180-4, 5.3.3).
const INITIAL_STATE: State = [
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
        digest_after_block(self.outer, &digest_after_block(self.inner, text))
    }

    /// Whether this is the code of the text, in constant time.
    pub(crate) fn verify(&self, text: &[u8], code: &[u8; 32]) -> bool {
        constant_time::verify_slices_are_equal(&self.sign(text), code).is_ok()
    }
}

fn keyed(key: &[u8; 32], pad: u8) -> State {
    let mut block = [pad; BLOCK];
    block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
    let mut state = INITIAL_STATE;
    compress256(&mut state, &[block]);
    block.zeroize();
    state
}

/// The digest of an already digested block followed by a text.
#[inline(always)]
fn digest_after_block(mut state: State, text: &[u8]) -> [u8; 32] {
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
    fn codes_equal_the_librarys_at_every_length() {
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
    fn a_code_verifies_with_its_key_and_text_alone() {
        let key = MacKey::new(&[7; 32]);
        let code = key.sign(b"text");
        assert!(!key.verify(b"texts", &code));
        assert!(!MacKey::new(&[8; 32]).verify(b"text", &code));
        for bit in 0..256 {
            let mut altered = code;
            altered[bit / 8] ^= 1 << (bit % 8);
            assert!(!key.verify(b"text", &altered), "bit {bit}");
        }
    }
}
