//! The key of the journals' chains.
//!
//! Derived from the master key when a store gets its first journal, and kept sealed from then on: so the chain of
//! entries that were written before a change of the master key can still be checked after it.

use zeroize::Zeroizing;

use crate::mac::MacKey;
use crate::{BadSeal, Vault};

const PURPOSE: &str = "journal key";

/// Makes and checks the MACs that chain a journal's entries.
pub struct JournalKey(MacKey);

impl JournalKey {
    pub(crate) fn new(bytes: &[u8; 32]) -> Self {
        Self(MacKey::new(bytes))
    }

    /// The MAC of an entry's bytes.
    pub fn sign(&self, bytes: &[u8]) -> [u8; 32] {
        self.0.sign(bytes)
    }

    /// Whether the key has made a MAC of these bytes.
    pub fn verify(&self, bytes: &[u8], mac: &[u8; 32]) -> bool {
        self.0.verify(bytes, mac)
    }
}

impl Vault {
    /// The journal key of a new store.
    pub fn new_journal_key(&self) -> JournalKey {
        JournalKey::new(&self.journal)
    }

    /// The journal key of a new store, sealed to be kept.
    pub fn seal_new_journal_key(&self) -> Vec<u8> {
        self.seal(PURPOSE, self.journal.as_slice())
    }

    /// Opens a sealed journal key.
    pub fn open_journal_key(&self, sealed: &[u8]) -> Result<JournalKey, BadSeal> {
        let bytes = Zeroizing::new(self.unseal(PURPOSE, sealed)?);
        let bytes = Zeroizing::new(bytes.as_slice().try_into().map_err(|_| BadSeal)?);
        Ok(JournalKey::new(&bytes))
    }

    /// Renews a journal key's seal under the first master key.
    pub fn reseal_journal_key(&self, sealed: &[u8]) -> Result<Vec<u8>, BadSeal> {
        self.reseal(PURPOSE, sealed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MasterKey, MasterKeys};

    #[test]
    fn a_kept_key_is_the_same_under_another_master_key() {
        let [old, new] = [(); 2].map(|()| MasterKey::generate());
        let before = Vault::new(&old.clone().into());
        let both = MasterKeys::parse(&[hex(&new), hex(&old)].join(" ")).unwrap();
        let both = Vault::new(&both);
        let mac = before.new_journal_key().sign(b"entry");
        assert!(!both.new_journal_key().verify(b"entry", &mac), "another master key");
        let resealed = both.reseal_journal_key(&before.seal_new_journal_key()).unwrap();
        let after = Vault::new(&new.into());
        let kept = after.open_journal_key(&resealed).unwrap();
        assert!(kept.verify(b"entry", &mac) && !kept.verify(b"another", &mac));
        assert!(after.open_journal_key(&before.seal_new_journal_key()).is_err());
    }

    fn hex(key: &MasterKey) -> String {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        key.save(&path).unwrap();
        std::fs::read_to_string(path).unwrap().trim().to_owned()
    }
}
