//! Passwords: making them, and the two ways of hashing them.
//!
//! A stored hash is one text, `scheme$key$…`:
//!
//! ```text
//! hmac-sha256$1a2b3c4d$<mac>                              generated: strong, so fast
//! argon2id$1a2b3c4d$m=19456,t=2,p=1$<salt>$<hash>         chosen: perhaps weak, so slow
//! ```
//!
//! Both are keyed: who steals the table alone can't even begin to guess.

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

/// Letters and digits that nobody mistakes for another: without `0`, `O`, `1`, `l` and `I`.
const PASSWORD_ALPHABET: &[u8; 57] = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";

const USERNAME_ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

const FAST: &str = "hmac-sha256";
const SLOW: &str = "argon2id";

/// SuccessCache of one slow hash, in KiB: 19 MiB.
const SLOW_MEMORY_KIB: u32 = 19_456;
const SLOW_PASSES: u32 = 2;
const SLOW_LANES: u32 = 1;

/// SuccessCache in KiB and passes of a new slow hash.
fn slow_cost() -> (u32, u32) {
    #[cfg(feature = "simulation")]
    if crate::simulation::is_on() {
        return crate::simulation::SLOW_COST;
    }
    (SLOW_MEMORY_KIB, SLOW_PASSES)
}

/// What keeps equal passwords from having equal slow hashes.
pub type Salt = [u8; 16];

/// Makes a password of 140 random bits.
pub fn generate_password() -> Password {
    spell_password(random::bytes)
}

/// Makes a username that nobody has: `u-` and 80 random bits.
pub fn generate_username() -> Username {
    spell_username(random::bytes)
}

/// The password that random bytes stand for.
pub(crate) fn spell_password(draw: impl FnMut() -> [u8; 32]) -> Password {
    let mut letters = Zeroizing::new([0; PASSWORD_CHARS]);
    random::spell(PASSWORD_ALPHABET, &mut *letters, draw);
    Password::new(ascii(&*letters).to_owned()).expect("24 bytes are allowed")
}

/// The username that random bytes stand for.
pub(crate) fn spell_username(draw: impl FnMut() -> [u8; 32]) -> Username {
    let mut letters = *b"u-????????????????";
    random::spell(USERNAME_ALPHABET, &mut letters[2..], draw);
    ascii(&letters).parse().expect("letters and digits are allowed")
}

/// Draws what tells a client from every other: 80 random bits as letters and digits.
pub fn generate_client_code() -> String {
    let mut letters = [0; 16];
    random::spell(USERNAME_ALPHABET, &mut letters, random::bytes);
    ascii(&letters).to_owned()
}

fn ascii(letters: &[u8]) -> &str {
    std::str::from_utf8(letters).expect("alphabets are ASCII")
}

/// What a slow hash is made in. Who makes many may use it again, and spares the machine handing it out anew,
/// which takes a tenth as long as the hash itself.
#[derive(Default)]
pub(crate) struct SuccessCache(Vec<Block>);

/// So many characters of a stored hash tell its scheme and its key: those of the longest scheme's name, the
/// key's, and the sign between. Of a shorter scheme they hold a little of what follows, always the same.
pub const HASH_NAME_CHARS: usize = FAST.len() + 1 + master::ID_CHARS;

/// Characters of a stored fast hash: its name, the sign behind it, and 32 bytes as text.
const FAST_CHARS: usize = HASH_NAME_CHARS + 1 + 43;

/// The short name of the key that a stored hash was made with. The beginning is enough of it.
pub fn key_of_hash(beginning: &str) -> Option<&str> {
    beginning.split('$').nth(1)
}

/// Hashes with the first of its keys, and compares with the one that a stored hash names.
#[derive(Clone)]
pub(crate) struct Hasher {
    keys: Arc<[Keys]>,
}

/// What is derived from one master key.
struct Keys {
    id: String,
    fast: MacKey,
    slow: [u8; 32],
    pretence: MacKey,
}

/// A stored hash, taken apart.
pub(crate) enum Scheme {
    Fast(FastHash),
    Slow(SlowHash),
}

pub(crate) struct FastHash {
    /// Which of our keys it was made with.
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

    /// The keys that make what is new.
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
        memory: &mut SuccessCache,
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
        let hash = keys.argon2(&slow.params, &slow.salt, password, &mut SuccessCache::default());
        constant_time::verify_slices_are_equal(&hash, &slow.hash).is_ok()
    }

    /// Whether a stored hash is the slow one with this salt.
    pub(crate) fn has_salt(&self, stored: &StoredHash, salt: &Salt) -> bool {
        matches!(self.read(stored), Ok(Scheme::Slow(slow)) if slow.salt == salt)
    }

    /// Whether a stored hash is the fast one of this password.
    pub(crate) fn is_fast_of(&self, stored: &StoredHash, password: &Password) -> bool {
        matches!(self.read(stored), Ok(Scheme::Fast(fast)) if self.matches_fast(&fast, password))
    }

    /// Whether a stored hash was made with another key than what is new.
    pub(crate) fn is_former(&self, stored: &StoredHash) -> bool {
        key_of_hash(stored.as_str()) != Some(&self.first().id)
    }

    /// Takes a stored hash apart, if it was made with a key of ours.
    pub(crate) fn read(&self, stored: &StoredHash) -> Result<Scheme, VaultError> {
        self.taken_apart(stored.as_str()).ok_or(VaultError::UnknownKey)
    }

    fn taken_apart(&self, stored: &str) -> Option<Scheme> {
        let (scheme, rest) = stored.split_once('$')?;
        let (id, rest) = rest.split_once('$')?;
        let key = self.keys.iter().position(|it| it.id == id)?;
        match scheme {
            FAST => read_fast(key, rest).map(Scheme::Fast),
            SLOW => read_slow(key, rest).map(Scheme::Slow),
            _ => None,
        }
    }

    /// Whether a stored hash is worth remembering.
    pub(crate) fn is_slow(&self, stored: &StoredHash) -> bool {
        stored.as_str().strip_prefix(SLOW).is_some_and(|rest| rest.starts_with('$'))
    }

    /// Which kind of work is done for a name that nobody has.
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
        memory: &mut SuccessCache,
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
    /// What keeps it from being equal to another's.
    pub(crate) fn salt(&self) -> &[u8] {
        &self.salt
    }
}

fn read_fast(key: usize, mac: &str) -> Option<FastHash> {
    // The library asks for room for a text of this length at its fullest.
    let mut room = [0; 33];
    let n_bytes = BASE64.decode_slice(mac, &mut room).ok()?;
    Some(FastHash { key, mac: room[..n_bytes].try_into().ok()? })
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
