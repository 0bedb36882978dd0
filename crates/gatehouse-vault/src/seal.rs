//! Sealing: authenticated encryption of secrets that the server reads again.
//!
//! A sealed text is `1 | key id (8) | nonce (24) | ciphertext and tag`. The nonce is random, and with 24 bytes it never
//! repeats: the first half derives a separate key for each seal, the second is the cipher's nonce. A Task's key seals
//! without a key id: it is stored with the data that it seals.

use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hmac;

use crate::{MasterKey, master, random};

const VERSION: u8 = 1;
const NONCE: usize = 24;

/// Bytes of a seal that identify its key: the version, and the key's short name.
pub const SEAL_NAME_BYTES: usize = 1 + master::ID_CHARS;

/// The short name of a seal's key. The first [`SEAL_NAME_BYTES`] bytes are enough.
pub fn key_of_seal(beginning: &[u8]) -> Option<&str> {
    let (&VERSION, rest) = beginning.split_first()? else { return None };
    str::from_utf8(rest.get(..master::ID_CHARS)?).ok()
}

/// A name of a seal, which is random: it tells two seals apart, and nothing of what is sealed.
pub fn name_of_seal(sealed: &[u8]) -> Option<String> {
    let nonce = sealed.get(SEAL_NAME_BYTES..SEAL_NAME_BYTES + 8)?;
    Some(nonce.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The bytes were not sealed with this key, or for another purpose, or have been altered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("sealed bytes can't be opened with this key")]
pub struct BadSeal;

/// Seals and unseals with one key.
pub(crate) struct Sealer {
    /// Prefix of every seal of this key: the version, and the key's name if it has one.
    head: Vec<u8>,
    key: hmac::Key,
}

impl Sealer {
    /// Seals under the master key.
    pub(crate) fn new(master: &MasterKey) -> Self {
        Self::with(&master.id(), &master.derive("seal"))
    }

    /// Seals under a key without a name.
    pub(crate) fn nameless(key: &[u8; 32]) -> Self {
        Self::with("", key)
    }

    /// Prefix of every seal of this key.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    fn with(key_id: &str, key: &[u8; 32]) -> Self {
        let head = [&[VERSION], key_id.as_bytes()].concat();
        Self { head, key: hmac::Key::new(hmac::HMAC_SHA256, key) }
    }

    /// Seals bytes; `purpose` must be the same to open them.
    pub(crate) fn seal(&self, purpose: &[u8], plain: &[u8]) -> Vec<u8> {
        let nonce = random::bytes::<NONCE>();
        let (cipher, inner) = self.cipher(&nonce);
        let mut body = plain.to_vec();
        cipher
            .seal_in_place_append_tag(inner, Aad::from(purpose), &mut body)
            .expect("sealing fails only for texts of many gigabytes");
        [&self.head[..], &nonce, &body].concat()
    }

    /// Opens bytes that were sealed for the same purpose.
    pub(crate) fn unseal(&self, purpose: &[u8], sealed: &[u8]) -> Result<Vec<u8>, BadSeal> {
        let rest = sealed.strip_prefix(&self.head[..]).ok_or(BadSeal)?;
        let (nonce, body) = rest.split_first_chunk::<NONCE>().ok_or(BadSeal)?;
        let (cipher, inner) = self.cipher(nonce);
        let mut body = body.to_vec();
        let plain =
            cipher.open_in_place(inner, Aad::from(purpose), &mut body).map_err(|_| BadSeal)?;
        let n_plain = plain.len();
        body.truncate(n_plain);
        Ok(body)
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
