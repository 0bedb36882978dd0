//! Which master keys a store was written with: their fingerprints, kept beside the data.
//!
//! A server writes its first key's fingerprint down before it makes anything with it, and starts only with all keys
//! that are written down. So servers may change their keys one after the other: whatever one of them writes, the
//! others that have started can read. A key is let go of by hand, when nothing is left that was made with it.

use std::fmt;

use gatehouse_store::{Store, StoreError};
use gatehouse_vault::MasterKeys;

use super::KeysError;

const FINGERPRINTS: &str = "master-key-fingerprint";

/// Least characters of a fingerprint that name it: those that hashes and seals carry.
const NAME_CHARS: usize = 8;

/// KeyUser takes a key up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyUser {
    /// One that runs from now on.
    Server,
    /// One that writes a little beside servers.
    Command,
}

/// The fingerprints of the master keys that are in use: one, and several while it is being changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeysInUse(Vec<String>);

impl KeysInUse {
    /// Those that are written down, if a server has started here before.
    pub async fn read(store: &Store) -> Result<Option<Self>, StoreError> {
        Ok(store.server_key(FINGERPRINTS).await?.map(|kept| Self::parse(&kept)))
    }

    /// Whether this key is in use.
    pub fn contains(&self, fingerprint: &str) -> bool {
        self.0.iter().any(|it| it == fingerprint)
    }

    /// The fingerprints, in the order in which servers last started with them first.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Whether all of them are among the keys that are given.
    pub(super) fn check(&self, given: &MasterKeys) -> Result<(), KeysError> {
        let given = given.fingerprints();
        match self.0.iter().find(|kept| !given.contains(kept)) {
            None => Ok(()),
            Some(lacking) if self.0.iter().any(|kept| given.contains(kept)) => {
                Err(KeysError::Lacking(lacking.clone()))
            }
            Some(_) => Err(KeysError::Mismatch { given: given.join(", "), kept: self.to_string() }),
        }
    }

    fn parse(kept: &[u8]) -> Self {
        let text = String::from_utf8_lossy(kept);
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

/// Writes down that the first of these keys is in use, if all that are in use are among them. A server also has it come
/// last, as the newest: hashes move to the key that the server which started last has first, so to one at a time.
pub(super) async fn register(
    store: &Store,
    masters: &MasterKeys,
    user: KeyUser,
) -> Result<(), KeysError> {
    let first = masters.fingerprints().swap_remove(0);
    let mut kept = store.keep_server_key(FINGERPRINTS, first.as_bytes()).await?;
    loop {
        let mut in_use = KeysInUse::parse(&kept);
        in_use.check(masters)?;
        let is_newest = in_use.iter().last() == Some(&first);
        if is_newest || (user == KeyUser::Command && in_use.contains(&first)) {
            return Ok(());
        }
        in_use.0.retain(|it| *it != first);
        in_use.0.push(first.clone());
        if store.replace_server_key(FINGERPRINTS, &kept, &in_use.to_bytes()).await? {
            tracing::info!(fingerprint = %first, "another master key is in use from now on");
            return Ok(());
        }
        // Another server came first.
        kept = store.keep_server_key(FINGERPRINTS, first.as_bytes()).await?;
    }
}

/// The key in use whose fingerprint is this, or begins like this.
fn find<'a>(in_use: &'a KeysInUse, fingerprint: &str) -> Result<&'a str, KeysError> {
    let mut named = in_use.iter().filter(|it| it.starts_with(fingerprint));
    match (named.next(), named.next()) {
        (Some(found), None) if fingerprint.len() >= NAME_CHARS => Ok(found),
        _ => Err(KeysError::NotRetired(format!(
            "no master key in use has the fingerprint `{fingerprint}`: these have been written with \
             here: {in_use}"
        ))),
    }
}

/// Lets go of a key: servers start without it from now on. Its whole fingerprint comes back.
pub async fn retire(store: &Store, fingerprint: &str) -> Result<String, KeysError> {
    loop {
        let never_started = || KeysError::NotRetired("no server has started here yet".into());
        let kept = store.server_key(FINGERPRINTS).await?.ok_or_else(never_started)?;
        let mut in_use = KeysInUse::parse(&kept);
        let found = find(&in_use, fingerprint)?.to_owned();
        if in_use.0.len() == 1 {
            return Err(KeysError::NotRetired(
                "it is the only master key in use: start a server with another one first".into(),
            ));
        }
        in_use.0.retain(|it| *it != found);
        if store.replace_server_key(FINGERPRINTS, &kept, &in_use.to_bytes()).await? {
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

    fn print(byte: u8) -> String {
        keys(&[byte]).fingerprints().remove(0)
    }

    async fn empty() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_sqlite(&dir.path().join("test.db"), Clock::machine()).await;
        (dir, store.unwrap())
    }

    /// What is in use, by the bytes of keys.
    async fn in_use(store: &Store) -> Vec<u8> {
        let kept = KeysInUse::read(store).await.unwrap().unwrap();
        let byte = |it: &str| (0..=9).find(|byte| print(*byte) == it).unwrap();
        kept.iter().map(byte).collect()
    }

    #[tokio::test]
    async fn a_server_needs_every_key_in_use_and_adds_its_first() {
        let (_dir, store) = empty().await;
        assert_eq!(KeysInUse::read(&store).await.unwrap(), None);
        // In the order of a change, with a server that comes late in between.
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
        // A command writes beside servers, and turns nothing round.
        register(&store, &keys(&[1, 2]), KeyUser::Command).await.unwrap();
        assert_eq!(in_use(&store).await, [1, 2]);
        let lacking = register(&store, &keys(&[1]), KeyUser::Server).await.unwrap_err().to_string();
        assert!(lacking.contains(&format!("key retire {}", print(2))), "{lacking}");
    }

    #[tokio::test]
    async fn a_key_that_is_let_go_of_is_needed_no_more() {
        let (_dir, store) = empty().await;
        assert!(retire(&store, &print(1)).await.is_err(), "nothing is in use yet");
        register(&store, &keys(&[1]), KeyUser::Server).await.unwrap();
        let why = retire(&store, &print(1)).await.unwrap_err().to_string();
        assert!(why.contains("only master key"), "{why}");
        register(&store, &keys(&[2, 1]), KeyUser::Server).await.unwrap();
        for unknown in ["", &print(1)[..7], &print(3)] {
            let why = retire(&store, unknown).await.unwrap_err().to_string();
            assert!(why.contains(&print(1)), "{unknown}: {why}");
        }
        assert_eq!(retire(&store, &print(1)[..8]).await.unwrap(), print(1));
        assert_eq!(in_use(&store).await, [2]);
        register(&store, &keys(&[2]), KeyUser::Server).await.unwrap();
        // One that writes with it all the same makes it needed again.
        register(&store, &keys(&[1, 2]), KeyUser::Server).await.unwrap();
        assert!(register(&store, &keys(&[2]), KeyUser::Server).await.is_err());
    }
}
