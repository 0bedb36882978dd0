//! Hashes of the C library's `crypt`: bcrypt, and SHA-crypt as `$5$` and `$6$`.

use bcrypt::HashParts;
use sha_crypt::{PasswordVerifier, ShaCrypt};

use super::{BCRYPT_COST_MAX, BadForeignHash, ITERATIONS_MAX, bounded, number};

/// Fewest rounds of SHA-crypt, which `crypt` writes where it was asked for fewer.
const ROUNDS_MIN: u32 = 1_000;

/// Most characters of a salt of SHA-crypt.
const SALT_CHARS_MAX: usize = 16;

/// Lowest cost that bcrypt has.
const BCRYPT_COST_MIN: u32 = 4;

/// Checks the form and the cost of a bcrypt hash.
pub(super) fn check_bcrypt(text: &str) -> Result<(), BadForeignHash> {
    let expected = "`$2y$`, a cost of two digits, `$` and 53 letters, digits, `.` or `/`";
    let malformed = BadForeignHash::Malformed { scheme: "bcrypt", expected };
    let parts: HashParts = text.parse().map_err(|_| malformed)?;
    let [least, cost, most] = [BCRYPT_COST_MIN, parts.get_cost(), BCRYPT_COST_MAX].map(u64::from);
    bounded("cost of bcrypt", cost, least, most)
}

/// Whether a bcrypt hash is that of the password.
///
/// bcrypt repeats the password with a NUL behind it, so one with a NUL inside could pass as another.
pub(super) fn is_bcrypt_of(text: &str, password: &[u8]) -> bool {
    !password.contains(&0) && bcrypt::verify(password, text).unwrap_or(false)
}

/// Checks the form and the rounds of a hash `$5$…`.
pub(super) fn check_sha256_crypt(fields: &[&str]) -> Result<(), BadForeignHash> {
    let expected =
        "`$5$`, perhaps `rounds=N$`, a salt of 1 to 16 characters, `$` and 43 characters";
    check_sha_crypt(fields, 43, BadForeignHash::Malformed { scheme: "SHA-256-crypt", expected })
}

/// Checks the form and the rounds of a hash `$6$…`.
pub(super) fn check_sha512_crypt(fields: &[&str]) -> Result<(), BadForeignHash> {
    let expected = "`$6$`, perhaps `rounds=N$`, a salt of 1 to 16 characters, `$` and 86 characters \
                    (or 88, as old versions of mosquitto wrote it)";
    check_sha_crypt(fields, 86, BadForeignHash::Malformed { scheme: "SHA-512-crypt", expected })
}

fn check_sha_crypt(
    fields: &[&str],
    digest_chars: usize,
    malformed: BadForeignHash,
) -> Result<(), BadForeignHash> {
    let (rounds, salt, digest) = match *fields {
        [rounds, salt, digest] => match rounds.strip_prefix("rounds=").and_then(number) {
            Some(rounds) => (Some(rounds), salt, digest),
            None => return Err(malformed),
        },
        [salt, digest] => (None, salt, digest),
        _ => return Err(malformed),
    };
    let is_right = (1..=SALT_CHARS_MAX).contains(&salt.len())
        && digest.len() == digest_chars
        && [salt, digest].into_iter().flat_map(str::bytes).all(is_letter_of_crypt);
    if !is_right {
        return Err(malformed);
    }
    let [least, most] = [ROUNDS_MIN, ITERATIONS_MAX].map(u64::from);
    rounds.map_or(Ok(()), |it| bounded("number of rounds", it.into(), least, most))
}

fn is_letter_of_crypt(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/')
}

/// Whether a hash `$5$…` or `$6$…` is that of the password.
pub(super) fn is_sha_crypt_of(text: &str, password: &[u8]) -> bool {
    ShaCrypt::default().verify_password(password, text).is_ok()
}
