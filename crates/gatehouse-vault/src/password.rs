//! Passwords: generating them, and the hash schemes.
//!
//! A stored hash is one text, `scheme$key$…`:
//!
//! ```text
//! hmac-sha256$1a2b3c4d$<mac>                              generated: strong, so fast
//! argon2id$1a2b3c4d$m=19456,t=2,p=1$<salt>$<hash>         chosen: perhaps weak, so slow
//! foreign$1a2b3c4d$<seal>                                 another program's hash, until its password is checked
//! ```
//!
//! All are keyed: an attacker with the table alone can't begin to guess.

use argon2::{Algorithm, Argon2, Block, Params, Version};
use aws_lc_rs::constant_time;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use gatehouse_core::Username;
use gatehouse_core::credential::{Password, StoredHash};
use std::sync::Arc;
use zeroize::Zeroizing;

use crate::mac::MacKey;
use crate::{MasterKey, MasterKeys, VaultError, master, random};

/// Characters in a generated password.
pub const PASSWORD_CHARS: usize = 24;

/// Letters and digits that are hard to confuse: without `0`, `O`, `1`, `l` and `I`.
const PASSWORD_ALPHABET: &[u8; 57] = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";

const USERNAME_ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

const FAST: &str = "hmac-sha256";
const SLOW: &str = "argon2id";
const FOREIGN: &str = "foreign";

/// Memory of one slow hash, in KiB: 19 MiB.
const SLOW_MEMORY_KIB: u32 = 19_456;
const SLOW_PASSES: u32 = 2;
const SLOW_LANES: u32 = 1;

/// Memory in KiB and passes of a new slow hash.
fn slow_cost() -> (u32, u32) {
    #[cfg(feature = "simulation")]
    if crate::simulation::is_on() {
        return crate::simulation::SLOW_COST;
    }
    (SLOW_MEMORY_KIB, SLOW_PASSES)
}

/// Salt of a slow hash, so that equal passwords have different hashes.
pub type Salt = [u8; 16];

/// Generates a password of 140 random bits.
pub fn generate_password() -> Password {
    spell_password(random::bytes)
}

/// Generates a unique username: `u-` and 80 random bits.
pub fn generate_username() -> Username {
    spell_username(random::bytes)
}

/// Encodes random bytes as a password.
pub(crate) fn spell_password(draw: impl FnMut() -> [u8; 32]) -> Password {
    let mut letters = Zeroizing::new([0; PASSWORD_CHARS]);
    random::spell(PASSWORD_ALPHABET, &mut *letters, draw);
    Password::new(ascii(&*letters).to_owned()).expect("24 bytes are allowed")
}

/// Encodes random bytes as a username.
pub(crate) fn spell_username(draw: impl FnMut() -> [u8; 32]) -> Username {
    let mut letters = *b"u-????????????????";
    random::spell(USERNAME_ALPHABET, &mut letters[2..], draw);
    ascii(&letters).parse().expect("letters and digits are allowed")
}

/// Generates the unique part of a client's identifier: 80 random bits as letters and digits.
pub fn generate_client_code() -> String {
    let mut letters = [0; 16];
    random::spell(USERNAME_ALPHABET, &mut letters, random::bytes);
    ascii(&letters).to_owned()
}

fn ascii(letters: &[u8]) -> &str {
    std::str::from_utf8(letters).expect("alphabets are ASCII")
}

/// Memory for slow hashes. Reusing it spares an allocation, which takes a tenth of the time of a hash.
#[derive(Default)]
pub(crate) struct HashMemory(Vec<Block>);

/// Characters of a stored hash that identify its scheme and key: the longest scheme's name, a separator, and the key's
/// name. For a shorter scheme they include the start of the parameters, which is constant.
pub const HASH_NAME_CHARS: usize = FAST.len() + 1 + master::ID_CHARS;

/// Characters of a stored fast hash: its name, a separator, and 32 bytes as text.
const FAST_CHARS: usize = HASH_NAME_CHARS + 1 + 43;

/// The short name of a stored hash's key. The first [`HASH_NAME_CHARS`] characters are enough.
pub fn key_of_hash(beginning: &str) -> Option<&str> {
    beginning.split('$').nth(1)
}

/// Hashes with the first key, and compares with the key that a stored hash names.
#[derive(Clone)]
pub(crate) struct Hasher {
    keys: Arc<[Keys]>,
}

/// Keys that are derived from one master key.
struct Keys {
    id: String,
    fast: MacKey,
    slow: [u8; 32],
    pretence: MacKey,
}

/// A parsed stored hash.
pub(crate) enum Scheme {
    Fast(FastHash),
    Slow(SlowHash),
    /// Another program's hash, sealed.
    Foreign(Vec<u8>),
}

pub(crate) struct FastHash {
    /// Index of the master key.
    key: usize,
    mac: [u8; 32],
}

pub(crate) struct SlowHash {
    key: usize,
    params: Params,
    salt: Vec<u8>,
    hash: Vec<u8>,
}

impl Hasher {
    pub(crate) fn new(masters: &MasterKeys) -> Self {
        Self { keys: masters.iter().map(Keys::of).collect() }
    }

    /// The keys for new hashes.
    fn first(&self) -> &Keys {
        &self.keys[0]
    }

    pub(crate) fn hash_fast(&self, password: &Password) -> StoredHash {
        let Keys { id, fast, .. } = self.first();
        let mac = fast.sign(password.reveal().as_bytes());
        let mut text = String::with_capacity(FAST_CHARS);
        for part in [FAST, "$", id, "$"] {
            text.push_str(part);
        }
        BASE64.encode_string(mac, &mut text);
        StoredHash::new(text)
    }

    pub(crate) fn matches_fast(&self, fast: &FastHash, password: &Password) -> bool {
        self.keys[fast.key].fast.verify(password.reveal().as_bytes(), &fast.mac)
    }

    pub(crate) fn hash_slow(
        &self,
        password: &Password,
        salt: &[u8],
        memory: &mut HashMemory,
    ) -> StoredHash {
        let (memory_kib, passes) = slow_cost();
        let params = Params::new(memory_kib, passes, SLOW_LANES, Some(32))
            .expect("the parameters are within Argon2's bounds");
        let hash = self.first().argon2(&params, salt, password, memory);
        StoredHash::new(format!(
            "{SLOW}${}$m={memory_kib},t={passes},p={SLOW_LANES}${}${}",
            self.first().id,
            BASE64.encode(salt),
            BASE64.encode(hash)
        ))
    }

    pub(crate) fn matches_slow(&self, slow: &SlowHash, password: &Password) -> bool {
        let keys = &self.keys[slow.key];
        let hash = keys.argon2(&slow.params, &slow.salt, password, &mut HashMemory::default());
        constant_time::verify_slices_are_equal(&hash, &slow.hash).is_ok()
    }

    /// Whether a stored hash is a slow one with this salt.
    pub(crate) fn has_salt(&self, stored: &StoredHash, salt: &Salt) -> bool {
        matches!(self.read(stored), Ok(Scheme::Slow(slow)) if slow.salt == salt)
    }

    /// Whether a stored hash is the fast one of this password.
    pub(crate) fn is_fast_of(&self, stored: &StoredHash, password: &Password) -> bool {
        matches!(self.read(stored), Ok(Scheme::Fast(fast)) if self.matches_fast(&fast, password))
    }

    /// Whether a stored hash was made with a former key.
    pub(crate) fn is_former(&self, stored: &StoredHash) -> bool {
        key_of_hash(stored.as_str()) != Some(&self.first().id)
    }

    /// Parses a stored hash. Fails if its key is unknown.
    pub(crate) fn read(&self, stored: &StoredHash) -> Result<Scheme, VaultError> {
        self.parse(stored.as_str()).ok_or(VaultError::UnknownKey)
    }

    fn parse(&self, stored: &str) -> Option<Scheme> {
        let (scheme, rest) = stored.split_once('$')?;
        let (id, rest) = rest.split_once('$')?;
        let key = self.keys.iter().position(|it| it.id == id)?;
        match scheme {
            FAST => read_fast(key, rest).map(Scheme::Fast),
            SLOW => read_slow(key, rest).map(Scheme::Slow),
            FOREIGN => BASE64.decode(rest).ok().map(Scheme::Foreign),
            _ => None,
        }
    }

    /// The text to store for another program's hash, which the first key has sealed.
    pub(crate) fn store_foreign(&self, sealed: &[u8]) -> StoredHash {
        StoredHash::new(format!("{FOREIGN}${}${}", self.first().id, BASE64.encode(sealed)))
    }

    /// Whether a stored hash is slow, so that successes are cached.
    pub(crate) fn is_slow(&self, stored: &StoredHash) -> bool {
        is_of(SLOW, stored) || self.is_foreign(stored)
    }

    /// Whether a stored hash is another program's.
    pub(crate) fn is_foreign(&self, stored: &StoredHash) -> bool {
        is_of(FOREIGN, stored)
    }

    /// Whether the check of an unknown username does a slow hash.
    pub(crate) fn unknown_is_slow(&self, username: &str) -> bool {
        self.first().pretence.sign(username.as_bytes())[0].is_multiple_of(2)
    }
}

impl Keys {
    fn of(master: &MasterKey) -> Self {
        let key = |purpose| MacKey::new(&master.derive(purpose));
        Self {
            id: master.id(),
            fast: key("password/fast"),
            slow: master.derive("password/slow"),
            pretence: key("password/pretence"),
        }
    }

    fn argon2(
        &self,
        params: &Params,
        salt: &[u8],
        password: &Password,
        memory: &mut HashMemory,
    ) -> [u8; 32] {
        let argon2 = Argon2::new_with_secret(
            &self.slow,
            Algorithm::Argon2id,
            Version::V0x13,
            params.clone(),
        )
        .expect("a key of 32 bytes is within Argon2's bounds");
        let mut hash = [0; 32];
        memory.0.resize(params.block_count(), Block::default());
        argon2
            .hash_password_into_with_memory(
                password.reveal().as_bytes(),
                salt,
                &mut hash,
                &mut memory.0,
            )
            .expect("lengths are within Argon2's bounds");
        hash
    }
}

impl SlowHash {
    /// The hash's salt.
    pub(crate) fn salt(&self) -> &[u8] {
        &self.salt
    }
}

fn is_of(scheme: &str, stored: &StoredHash) -> bool {
    stored.as_str().strip_prefix(scheme).is_some_and(|rest| rest.starts_with('$'))
}

fn read_fast(key: usize, mac: &str) -> Option<FastHash> {
    // The library needs a buffer for the longest text of this length.
    let mut buffer = [0; 33];
    let n_bytes = BASE64.decode_slice(mac, &mut buffer).ok()?;
    Some(FastHash { key, mac: buffer[..n_bytes].try_into().ok()? })
}

fn read_slow(key: usize, rest: &str) -> Option<SlowHash> {
    let (params, rest) = rest.split_once('$')?;
    let (salt, hash) = rest.split_once('$')?;
    let mut numbers = params
        .split(',')
        .zip(["m=", "t=", "p="])
        .map(|(part, name)| part.strip_prefix(name).and_then(|number| number.parse::<u32>().ok()));
    let params =
        Params::new(numbers.next()??, numbers.next()??, numbers.next()??, Some(32)).ok()?;
    let salt = BASE64.decode(salt).ok().filter(|salt| salt.len() >= argon2::MIN_SALT_LEN)?;
    let hash = BASE64.decode(hash).ok()?;
    Some(SlowHash { key, params, salt, hash })
}
