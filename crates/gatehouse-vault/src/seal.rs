//! Sealing: authenticated encryption of what must be read again.
//!
//! A sealed text is `1 | key id (8) | nonce (24) | ciphertext and tag`. The nonce is random, and 24
//! bytes of it are too many to meet one twice: the first half picks a key of its own for each seal,
//! the second is that cipher's nonce.

use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hmac;

use crate::{MasterKey, chance};

const VERSION: u8 = 1;
const KEY_ID: usize = 8;
const NONCE: usize = 24;

/// Bytes that were not sealed here, or for another purpose, or were changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("sealed bytes can't be opened with this master key")]
pub struct BadSeal;

pub(crate) struct Sealer {
    key_id: String,
    key: hmac::Key,
}

impl Sealer {
    pub(crate) fn new(master: &MasterKey) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &master.derive("seal"));
        Self { key_id: master.id(), key }
    }

    pub(crate) fn seal(&self, purpose: &str, plain: &[u8]) -> Vec<u8> {
        let nonce = chance::bytes::<NONCE>();
        let mut sealed = vec![VERSION];
        sealed.extend_from_slice(self.key_id.as_bytes());
        sealed.extend_from_slice(&nonce);
        let mut body = plain.to_vec();
        let (cipher, inner) = self.cipher(&nonce);
        cipher
            .seal_in_place_append_tag(inner, Aad::from(purpose.as_bytes()), &mut body)
            .expect("sealing fails only for texts of many gigabytes");
        sealed.extend_from_slice(&body);
        sealed
    }

    pub(crate) fn unseal(&self, purpose: &str, sealed: &[u8]) -> Result<Vec<u8>, BadSeal> {
        let (head, rest) = sealed.split_at_checked(1 + KEY_ID).ok_or(BadSeal)?;
        if head[0] != VERSION || &head[1..] != self.key_id.as_bytes() {
            return Err(BadSeal);
        }
        let (nonce, body) = rest.split_first_chunk::<NONCE>().ok_or(BadSeal)?;
        let (cipher, inner) = self.cipher(nonce);
        let mut body = body.to_vec();
        let plain = cipher
            .open_in_place(inner, Aad::from(purpose.as_bytes()), &mut body)
            .map_err(|_| BadSeal)?;
        Ok(plain.to_vec())
    }

    fn cipher(&self, nonce: &[u8; NONCE]) -> (LessSafeKey, Nonce) {
        let (outer, inner) = nonce.split_at(NONCE / 2);
        let key = hmac::sign(&self.key, outer);
        let key = UnboundKey::new(&aead::CHACHA20_POLY1305, key.as_ref())
            .expect("SHA-256 gives the 32 bytes that the cipher wants");
        let inner = Nonce::try_assume_unique_for_key(inner).expect("half a nonce has 12 bytes");
        (LessSafeKey::new(key), inner)
    }
}
