//! MACs that chain the entries of a journal.

use crate::mac::MacKey;
use crate::{MasterKey, MasterKeys};

/// The keys of a journal's chain: the first makes MACs, the others check those of former master keys.
pub struct JournalKeys(Vec<MacKey>);

impl JournalKeys {
    pub(crate) fn new(masters: &MasterKeys) -> Self {
        Self(masters.iter().map(|it: &MasterKey| MacKey::new(&it.derive("journal"))).collect())
    }

    /// The MAC of an entry's bytes.
    pub fn sign(&self, bytes: &[u8]) -> [u8; 32] {
        self.0.first().map(|key| key.sign(bytes)).unwrap_or_default()
    }

    /// Whether one of the keys has made a MAC of these bytes.
    pub fn verify(&self, bytes: &[u8], mac: &[u8; 32]) -> bool {
        self.0.iter().any(|key| key.verify(bytes, mac))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macs_of_a_former_master_key_are_checked_but_no_longer_made() {
        let [old, new] = [(); 2].map(|()| MasterKey::generate());
        let before = JournalKeys::new(&old.clone().into());
        let both = MasterKeys::parse(&[hex(&new), hex(&old)].join(" ")).unwrap();
        let after = JournalKeys::new(&both);
        let mac = before.sign(b"entry");
        assert!(after.verify(b"entry", &mac) && !after.verify(b"another", &mac));
        assert_ne!(after.sign(b"entry"), mac);
        assert!(!before.verify(b"entry", &after.sign(b"entry")));
    }

    fn hex(key: &MasterKey) -> String {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        key.save(&path).unwrap();
        std::fs::read_to_string(path).unwrap().trim().to_owned()
    }
}
