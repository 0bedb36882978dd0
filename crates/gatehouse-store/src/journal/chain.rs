//! The chain of a journal's entries: who alters, removes or inserts one can't make the MACs of those behind it.

use std::sync::Arc;

use super::Journal;
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

/// An entry with its numbers, as it goes into the MAC.
pub(crate) struct Numbered<'e> {
    pub(crate) first: u64,
    pub(crate) n: u64,
    pub(crate) at: i64,
    pub(crate) bytes: &'e [u8],
}

impl Numbered<'_> {
    fn bytes_behind(&self, journal: &Journal, before: &Mac) -> Vec<u8> {
        // No tenant's name has a space, so no entry is good for another journal.
        let name = match journal {
            Journal::Changes(tenant) => tenant.to_string(),
            Journal::Audit(tenant) => format!("{tenant} audit"),
            Journal::EstateAudit => "* audit".to_owned(),
        };
        let mut bytes = Vec::with_capacity(1 + name.len() + 56 + self.bytes.len());
        // A tenant's name is short.
        bytes.push(name.len() as u8);
        bytes.extend(name.as_bytes());
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
