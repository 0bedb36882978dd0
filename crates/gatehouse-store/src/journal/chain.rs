//! The chain of a journal's entries: who alters, removes or inserts one can't make the MACs of those behind it.

use std::sync::Arc;

use super::{Journal, JournalEnds};
use crate::error::StoreError;

/// A MAC of a journal's entry and of all before it.
pub type Mac = [u8; 32];

/// Makes and checks MACs, with keys that the store doesn't know.
#[derive(Clone)]
pub struct ChainKey {
    sign: Arc<Sign>,
    verify: Arc<Verify>,
}

type Sign = dyn Fn(&[u8]) -> Mac + Send + Sync;
type Verify = dyn Fn(&[u8], &Mac) -> bool + Send + Sync;

impl ChainKey {
    /// A key that is used by two functions.
    pub fn new(
        sign: impl Fn(&[u8]) -> Mac + Send + Sync + 'static,
        verify: impl Fn(&[u8], &Mac) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self { sign: Arc::new(sign), verify: Arc::new(verify) }
    }

    /// The MAC of an entry that follows the one with the MAC `before`.
    pub(crate) fn sign(&self, journal: &Journal, before: &Mac, entry: &Numbered<'_>) -> Mac {
        (self.sign)(&entry.bytes_behind(journal, before))
    }

    /// Whether this is the MAC of such an entry.
    pub(crate) fn verify(
        &self,
        journal: &Journal,
        before: &Mac,
        entry: &Numbered<'_>,
        mac: &Mac,
    ) -> bool {
        (self.verify)(&entry.bytes_behind(journal, before), mac)
    }
}

impl ChainKey {
    /// The MAC of a journal's ends.
    pub(crate) fn sign_ends(&self, journal: &Journal, ends: &JournalEnds) -> Mac {
        (self.sign)(&ends_bytes(journal, ends))
    }

    /// Whether this is the MAC of a journal's ends.
    pub(crate) fn verify_ends(&self, journal: &Journal, ends: &JournalEnds, mac: &Mac) -> bool {
        (self.verify)(&ends_bytes(journal, ends), mac)
    }
}

fn ends_bytes(journal: &Journal, ends: &JournalEnds) -> Vec<u8> {
    // No entry's bytes begin like this: no name is empty.
    let mut bytes = vec![0];
    put_name(&mut bytes, journal);
    bytes.extend(ends.last.to_be_bytes());
    bytes.extend(ends.mac);
    bytes.extend(ends.deleted_to.to_be_bytes());
    bytes.extend(ends.deleted_mac);
    bytes
}

/// A journal's name behind its length, so that no entry is good for another journal. No tenant's name has a space.
fn put_name(bytes: &mut Vec<u8>, journal: &Journal) {
    let name = match journal {
        Journal::Changes(tenant) => tenant.to_string(),
        Journal::Audit(tenant) => format!("{tenant} audit"),
        Journal::EstateAudit => "* audit".to_owned(),
    };
    // A tenant's name is short.
    bytes.push(name.len() as u8);
    bytes.extend(name.as_bytes());
}

/// An entry with its numbers, as it goes into the MAC.
pub(crate) struct Numbered<'e> {
    pub(crate) first: u64,
    pub(crate) n: u64,
    pub(crate) at: i64,
    pub(crate) bytes: &'e [u8],
}

impl Numbered<'_> {
    fn bytes_behind(&self, journal: &Journal, before: &Mac) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(128 + self.bytes.len());
        put_name(&mut bytes, journal);
        bytes.extend(before);
        bytes.extend(self.first.to_be_bytes());
        bytes.extend(self.n.to_be_bytes());
        bytes.extend(self.at.to_be_bytes());
        bytes.extend(self.bytes);
        bytes
    }
}

/// The MAC before the first entry.
pub(crate) const NO_MAC: Mac = [0; 32];

/// A stored MAC.
pub(crate) fn mac_of(bytes: &[u8]) -> Result<Mac, StoreError> {
    bytes.try_into().map_err(|_| StoreError::corrupt("a MAC of a journal has 32 bytes"))
}
