//! The fingerprints of the master keys that a store was written with.
//!
//! A server registers its first key before it uses it, and starts only with all registered keys. So servers can be
//! given new keys one by one: every running server can read what any other writes. An operator retires a key once
//! nothing is left that was made with it.

use std::fmt;

use gatehouse_store::{Store, StoreError};
use gatehouse_vault::MasterKeys;

use super::KeysError;

const FINGERPRINTS: &str = "master-key-fingerprint";

/// Shortest prefix that names a fingerprint: as long as in hashes and seals.
const NAME_CHARS: usize = 8;

/// The process that registers a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyUser {
    /// A server.
    Server,
    /// A command, while servers may run.
    Command,
}

/// Fingerprints of the master keys in use: one, or several during a rotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeysInUse(Vec<String>);

impl KeysInUse {
    /// The registered fingerprints, if a server has started here before.
    pub async fn read(store: &Store) -> Result<Option<Self>, StoreError> {
        Ok(store.server_key(FINGERPRINTS).await?.map(|stored| Self::parse(&stored)))
    }

    /// Whether this key is in use.
    pub fn contains(&self, fingerprint: &str) -> bool {
        self.0.iter().any(|it| it == fingerprint)
    }

    /// The fingerprints; the key with which a server started last is last.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Checks that all of them are among the given keys.
    pub(super) fn check(&self, given: &MasterKeys) -> Result<(), KeysError> {
        let given = given.fingerprints();
        match self.0.iter().find(|stored| !given.contains(stored)) {
            None => Ok(()),
            Some(lacking) if self.0.iter().any(|stored| given.contains(stored)) => {
                Err(KeysError::Lacking(lacking.clone()))
            }
            Some(_) => {
                Err(KeysError::Mismatch { given: given.join(", "), stored: self.to_string() })
            }
        }
    }

    fn parse(stored: &[u8]) -> Self {
        let text = String::from_utf8_lossy(stored);
        Self(text.split_whitespace().map(str::to_owned).collect())
    }

    fn to_bytes(&self) -> Vec<u8> {
        self.0.join("\n").into_bytes()
    }
}

impl fmt::Display for KeysInUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

/// Registers the first key, if all keys in use are given. A server also moves it to the end, as the newest: hashes move
/// to the newest key only, so to one at a time.
pub(super) async fn register(
    store: &Store,
    masters: &MasterKeys,
    user: KeyUser,
) -> Result<(), KeysError> {
    let first = masters.fingerprints().swap_remove(0);
    let mut stored = store.keep_server_key(FINGERPRINTS, first.as_bytes()).await?;
    loop {
        let mut in_use = KeysInUse::parse(&stored);
        in_use.check(masters)?;
        let is_newest = in_use.iter().last() == Some(&first);
        if is_newest || (user == KeyUser::Command && in_use.contains(&first)) {
            return Ok(());
        }
        in_use.0.retain(|it| *it != first);
        in_use.0.push(first.clone());
        if store.replace_server_key(FINGERPRINTS, &stored, &in_use.to_bytes()).await? {
            tracing::info!(fingerprint = %first, "another master key is in use from now on");
            return Ok(());
        }
        // Another server has written first.
        stored = store.keep_server_key(FINGERPRINTS, first.as_bytes()).await?;
    }
}

/// Finds the key in use by the beginning of its fingerprint.
fn find<'a>(in_use: &'a KeysInUse, fingerprint: &str) -> Result<&'a str, KeysError> {
    let mut named = in_use.iter().filter(|it| it.starts_with(fingerprint));
    match (named.next(), named.next()) {
        (Some(found), None) if fingerprint.len() >= NAME_CHARS => Ok(found),
        _ => Err(KeysError::NotRetired(format!(
            "no master key in use has the fingerprint `{fingerprint}`: the keys in use \
             are {in_use}"
        ))),
    }
}

/// Retires a key: servers start without it from now on. Returns its full fingerprint.
pub async fn retire(store: &Store, fingerprint: &str) -> Result<String, KeysError> {
    loop {
        let never_started = || KeysError::NotRetired("no server has started here yet".into());
        let stored = store.server_key(FINGERPRINTS).await?.ok_or_else(never_started)?;
        let mut in_use = KeysInUse::parse(&stored);
        let found = find(&in_use, fingerprint)?.to_owned();
        if in_use.0.len() == 1 {
            return Err(KeysError::NotRetired(
                "it is the only master key in use: start a server with another one first".into(),
            ));
        }
        in_use.0.retain(|it| *it != found);
        if store.replace_server_key(FINGERPRINTS, &stored, &in_use.to_bytes()).await? {
            return Ok(found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehouse_store::Clock;

    fn keys(bytes: &[u8]) -> MasterKeys {
        let keys: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}").repeat(32)).collect();
        MasterKeys::parse(&keys.join(" ")).unwrap()
    }

    fn fingerprint(byte: u8) -> String {
        keys(&[byte]).fingerprints().remove(0)
    }

    async fn empty() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_sqlite(&dir.path().join("test.db"), Clock::machine()).await;
        (dir, store.unwrap())
    }

    /// The keys in use, by their bytes.
    async fn in_use(store: &Store) -> Vec<u8> {
        let stored = KeysInUse::read(store).await.unwrap().unwrap();
        let byte = |it: &str| (0..=9).find(|byte| fingerprint(*byte) == it).unwrap();
        stored.iter().map(byte).collect()
    }

    #[tokio::test]
    async fn a_server_needs_every_key_in_use_and_registers_its_first() {
        let (_dir, store) = empty().await;
        assert_eq!(KeysInUse::read(&store).await.unwrap(), None);
        // The order of a rotation, with a server in between that still has the old keys.
        for (given, expected) in [
            (&[1][..], Ok(&[1][..])),
            (&[1, 2], Ok(&[1])),
            (&[2], Err("not the one that this database")),
            (&[2, 1], Ok(&[1, 2])),
            (&[1, 2], Ok(&[2, 1])),
            (&[2, 1], Ok(&[1, 2])),
            (&[1], Err("also written with")),
            (&[2], Err("also written with")),
            (&[3, 2], Err("also written with")),
            (&[3], Err("not the one that this database")),
        ] {
            match (register(&store, &keys(given), KeyUser::Server).await, expected) {
                (Ok(()), Ok(expected)) => assert_eq!(in_use(&store).await, expected, "{given:?}"),
                (Err(why), Err(expected)) => {
                    assert!(why.to_string().contains(expected), "{given:?}: {why}");
                }
                (came, _) => panic!("{given:?}: {came:?}"),
            }
        }
        // A command doesn't change the order.
        register(&store, &keys(&[1, 2]), KeyUser::Command).await.unwrap();
        assert_eq!(in_use(&store).await, [1, 2]);
        let lacking = register(&store, &keys(&[1]), KeyUser::Server).await.unwrap_err().to_string();
        assert!(lacking.contains(&format!("key retire {}", fingerprint(2))), "{lacking}");
    }

    #[tokio::test]
    async fn a_retired_key_is_no_longer_needed() {
        let (_dir, store) = empty().await;
        assert!(retire(&store, &fingerprint(1)).await.is_err(), "nothing is in use yet");
        register(&store, &keys(&[1]), KeyUser::Server).await.unwrap();
        let why = retire(&store, &fingerprint(1)).await.unwrap_err().to_string();
        assert!(why.contains("only master key"), "{why}");
        register(&store, &keys(&[2, 1]), KeyUser::Server).await.unwrap();
        for unknown in ["", &fingerprint(1)[..7], &fingerprint(3)] {
            let why = retire(&store, unknown).await.unwrap_err().to_string();
            assert!(why.contains(&fingerprint(1)), "{unknown}: {why}");
        }
        assert_eq!(retire(&store, &fingerprint(1)[..8]).await.unwrap(), fingerprint(1));
        assert_eq!(in_use(&store).await, [2]);
        register(&store, &keys(&[2]), KeyUser::Server).await.unwrap();
        // A server that starts with the key registers it again.
        register(&store, &keys(&[1, 2]), KeyUser::Server).await.unwrap();
        assert!(register(&store, &keys(&[2]), KeyUser::Server).await.is_err());
    }
}
