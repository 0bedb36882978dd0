//! The key of a batch task, from which everything follows that nobody chose.
//!
//! A task draws its key once. From the key and an item's ordinal come the item's ID, username,
//! password and salt, the same every time: a task that was interrupted goes on as if nothing had
//! happened, and passwords that are shown again are stored nowhere. What the client chose is sealed
//! under the key. Whoever destroys the key destroys all of that.
//!
//! Bytes are HMAC-SHA-256 of `purpose (1) | round (1) | ordinal (4)`: no two uses share any.

use gatehouse_core::credential::Password;
use gatehouse_core::{AccessId, TaskId, TenantName, Username};
use zeroize::Zeroizing;

use crate::mac::MacKey;
use crate::password::{self, Salt};
use crate::random;
use crate::seal::{BadSeal, Sealer};

/// Thirty-two secret bytes of one task, ready for use.
pub struct TaskKey {
    bytes: Zeroizing<[u8; 32]>,
    derive: MacKey,
    sealer: Sealer,
}

/// What derived bytes are for. The numbers are part of what is derived: they never change.
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

    /// The key itself, to be sealed.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &*self.bytes
    }

    /// The ID of an item's access, of the time when the task was made. IDs sort by ordinal.
    pub fn access_id(&self, unix_milliseconds: u64, ordinal: u32) -> AccessId {
        let random = first(&self.bytes_for(Purpose::AccessId, ordinal, 0));
        AccessId::in_task(unix_milliseconds, ordinal, &random)
    }

    /// The username of an item that came without one.
    pub fn username(&self, ordinal: u32) -> Username {
        password::spell_username(self.rounds(Purpose::Username, ordinal))
    }

    /// The password of an item that came without one.
    pub fn password(&self, ordinal: u32) -> Password {
        password::spell_password(self.rounds(Purpose::Password, ordinal))
    }

    /// The salt for an item's chosen password.
    pub fn salt(&self, ordinal: u32) -> Salt {
        first(&self.bytes_for(Purpose::Salt, ordinal, 0))
    }

    /// Seals a part of what the client chose, to be opened as the same part alone.
    pub fn seal_part(&self, part: u32, plain: &[u8]) -> Vec<u8> {
        self.sealer.seal(&part.to_be_bytes(), plain)
    }

    /// Opens what [`TaskKey::seal_part`] sealed.
    pub fn open_part(&self, part: u32, sealed: &[u8]) -> Result<Vec<u8>, BadSeal> {
        self.sealer.unseal(&part.to_be_bytes(), sealed)
    }

    /// As many blocks as it takes.
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

/// What the key of a task is sealed for. Neither name holds a `/`.
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
