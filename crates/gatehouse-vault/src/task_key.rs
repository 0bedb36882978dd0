//! A batch's key, from which all values follow that the client didn't choose.
//!
//! A Task draws its key once. The key and an item's ordinal give the item's ID, username, password and salt, the same
//! every time: an interrupted Task continues as if nothing had happened, and passwords that it shows again are stored
//! nowhere. The client's own values are sealed under the key. Destroying the key destroys all of that.
//!
//! Bytes are HMAC-SHA-256 of `purpose (1) | round (1) | ordinal (4)`: no two uses share any.

use gatehouse_core::credential::Password;
use gatehouse_core::{AccessId, TaskId, TenantName, Username};
use zeroize::Zeroizing;

use crate::mac::MacKey;
use crate::password::{self, Salt};
use crate::random;
use crate::seal::{BadSeal, Sealer};

/// A Task's 32 secret bytes, ready for use.
pub struct TaskKey {
    bytes: Zeroizing<[u8; 32]>,
    derive: MacKey,
    sealer: Sealer,
}

/// Purpose of derived bytes. The numbers are inputs of the derivation: they never change.
#[derive(Clone, Copy)]
enum Purpose {
    AccessId = 1,
    Username = 2,
    Password = 3,
    Salt = 4,
    Parts = 5,
}

impl TaskKey {
    /// Draws a new key.
    pub fn draw() -> Self {
        Self::from_bytes(&Zeroizing::new(random::bytes()))
    }

    pub(crate) fn from_bytes(bytes: &[u8; 32]) -> Self {
        let derive = MacKey::new(bytes);
        let parts = Zeroizing::new(first(&bytes_for(&derive, Purpose::Parts, 0, 0)));
        Self { bytes: Zeroizing::new(*bytes), derive, sealer: Sealer::nameless(&parts) }
    }

    /// The key's bytes, to be sealed.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &*self.bytes
    }

    /// The ID of an item's access, with the Task's creation time. IDs sort by ordinal.
    pub fn access_id(&self, unix_milliseconds: u64, ordinal: u32) -> AccessId {
        let random = first(&self.bytes_for(Purpose::AccessId, ordinal, 0));
        AccessId::in_task(unix_milliseconds, ordinal, &random)
    }

    /// The username of an item without one.
    pub fn username(&self, ordinal: u32) -> Username {
        password::spell_username(self.rounds(Purpose::Username, ordinal))
    }

    /// The password of an item without one.
    pub fn password(&self, ordinal: u32) -> Password {
        password::spell_password(self.rounds(Purpose::Password, ordinal))
    }

    /// The salt for an item's chosen password.
    pub fn salt(&self, ordinal: u32) -> Salt {
        first(&self.bytes_for(Purpose::Salt, ordinal, 0))
    }

    /// Seals a part of the client's values, to be opened as the same part alone.
    pub fn seal_part(&self, part: u32, plain: &[u8]) -> Vec<u8> {
        self.sealer.seal(&part.to_be_bytes(), plain)
    }

    /// Opens a part that [`TaskKey::seal_part`] sealed.
    pub fn open_part(&self, part: u32, sealed: &[u8]) -> Result<Vec<u8>, BadSeal> {
        self.sealer.unseal(&part.to_be_bytes(), sealed)
    }

    /// Blocks of derived bytes, as many as the caller draws.
    fn rounds(&self, purpose: Purpose, ordinal: u32) -> impl FnMut() -> [u8; 32] {
        let mut rounds = 0..=u8::MAX;
        move || {
            let round = rounds.next().expect("fair bytes are found long before the rounds end");
            self.bytes_for(purpose, ordinal, round)
        }
    }

    fn bytes_for(&self, purpose: Purpose, ordinal: u32, round: u8) -> [u8; 32] {
        bytes_for(&self.derive, purpose, ordinal, round)
    }
}

fn bytes_for(key: &MacKey, purpose: Purpose, ordinal: u32, round: u8) -> [u8; 32] {
    let [a, b, c, d] = ordinal.to_be_bytes();
    key.sign(&[purpose as u8, round, a, b, c, d])
}

fn first<const N: usize>(bytes: &[u8; 32]) -> [u8; N] {
    *bytes.first_chunk().expect("nothing takes more than 32 bytes")
}

/// Purpose of a Task key's seal. Neither name has a `/`.
pub(crate) fn purpose(tenant: &TenantName, task: TaskId) -> String {
    format!("task key/{tenant}/{task}")
}

impl std::fmt::Debug for TaskKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TaskKey(…)")
    }
}

#[cfg(test)]
mod tests;
