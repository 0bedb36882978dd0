//! argon2 and scrypt, in the format of the Password Hashing Competition: `$argon2id$v=19$m=65536,t=3,p=4$salt$hash`
//! and `$scrypt$ln=15,r=8,p=1$salt$hash`.

use argon2::{Algorithm, Argon2, Version};
use aws_lc_rs::constant_time;
use zeroize::Zeroizing;

use super::{BadForeignHash, MEMORY_MIB_MAX, PASSES_MAX, bounded, digest, number, salt};

const KIB_PER_MIB: u64 = 1024;
const BYTES_PER_KIB: u64 = 1024;

/// A hash by argon2.
#[derive(Clone)]
pub(super) struct Argon2Hash {
    algorithm: Algorithm,
    version: Version,
    params: argon2::Params,
    salt: Vec<u8>,
    digest: Vec<u8>,
}

/// A hash by scrypt.
#[derive(Clone)]
pub(super) struct ScryptHash {
    params: scrypt::Params,
    salt: Vec<u8>,
    digest: Vec<u8>,
}

/// Parses the fields behind `$argon2id$`.
pub(super) fn parse_argon2id(fields: &[&str]) -> Result<Argon2Hash, BadForeignHash> {
    let expected = "`$argon2id$v=19$m=…,t=…,p=…$salt$hash` with Base64 of at least 8 and 16 bytes";
    let malformed = BadForeignHash::Malformed { scheme: "argon2id", expected };
    parse_argon2(fields, Algorithm::Argon2id, malformed)
}

/// Parses the fields behind `$argon2i$`.
pub(super) fn parse_argon2i(fields: &[&str]) -> Result<Argon2Hash, BadForeignHash> {
    let expected = "`$argon2i$v=19$m=…,t=…,p=…$salt$hash` with Base64 of at least 8 and 16 bytes";
    let malformed = BadForeignHash::Malformed { scheme: "argon2i", expected };
    parse_argon2(fields, Algorithm::Argon2i, malformed)
}

fn parse_argon2(
    fields: &[&str],
    algorithm: Algorithm,
    malformed: BadForeignHash,
) -> Result<Argon2Hash, BadForeignHash> {
    // Version 1.0 didn't write its number.
    let (version, fields) = match fields {
        ["v=19", rest @ ..] => (Version::V0x13, rest),
        ["v=16", rest @ ..] => (Version::V0x10, rest),
        rest => (Version::V0x10, rest),
    };
    let [params, salt_text, digest_text] = *fields else { return Err(malformed) };
    let [memory, passes, lanes] =
        parameters(params, ["m=", "t=", "p="]).ok_or_else(|| malformed.clone())?;
    let most = MEMORY_MIB_MAX * KIB_PER_MIB;
    bounded("memory of argon2 in KiB (m)", memory.into(), 8, most)?;
    bounded("number of passes of argon2 (t)", passes.into(), 1, PASSES_MAX.into())?;
    // Each lane needs 8 KiB.
    bounded("number of lanes of argon2 (p)", lanes.into(), 1, u64::from(memory) / 8)?;
    let parsed = || {
        let salt = salt(salt_text).filter(|it| it.len() >= argon2::MIN_SALT_LEN)?;
        let digest = digest(digest_text)?;
        let params = argon2::Params::new(memory, passes, lanes, Some(digest.len())).ok()?;
        Some(Argon2Hash { algorithm, version, params, salt, digest })
    };
    parsed().ok_or(malformed)
}

/// Parses the fields behind `$scrypt$`.
pub(super) fn parse_scrypt(fields: &[&str]) -> Result<ScryptHash, BadForeignHash> {
    let expected =
        "`$scrypt$ln=…,r=…,p=…$salt$hash` with Base64 of at most 64, and of 16 to 64 bytes";
    let malformed = BadForeignHash::Malformed { scheme: "scrypt", expected };
    let [params, salt_text, digest_text] = *fields else { return Err(malformed) };
    let [log_n, r, passes] =
        parameters(params, ["ln=", "r=", "p="]).ok_or_else(|| malformed.clone())?;
    bounded("logarithm of scrypt's cost (ln)", log_n.into(), 1, 63)?;
    let memory_kib = ((128 * u128::from(r)) << log_n) / u128::from(BYTES_PER_KIB);
    let memory_kib = u64::try_from(memory_kib).unwrap_or(u64::MAX);
    bounded("memory of scrypt in KiB (by ln and r)", memory_kib, 0, MEMORY_MIB_MAX * KIB_PER_MIB)?;
    bounded("number of passes of scrypt (p)", passes.into(), 1, PASSES_MAX.into())?;
    let parsed = || {
        let params = scrypt::Params::new(u8::try_from(log_n).ok()?, r, passes).ok()?;
        Some(ScryptHash { params, salt: salt(salt_text)?, digest: digest(digest_text)? })
    };
    parsed().ok_or(malformed)
}

/// The numbers of `a=1,b=2,c=3`, by these names.
fn parameters<const N: usize>(text: &str, names: [&str; N]) -> Option<[u32; N]> {
    let mut given = text.split(',');
    let mut numbers = [0; N];
    for (value, name) in numbers.iter_mut().zip(names) {
        *value = given.next()?.strip_prefix(name).and_then(number)?;
    }
    given.next().is_none().then_some(numbers)
}

impl Argon2Hash {
    pub(super) fn matches(&self, password: &[u8]) -> bool {
        let argon2 = Argon2::new(self.algorithm, self.version, self.params.clone());
        let mut made = Zeroizing::new(vec![0; self.digest.len()]);
        argon2.hash_password_into(password, &self.salt, &mut made).is_ok()
            && constant_time::verify_slices_are_equal(&made, &self.digest).is_ok()
    }
}

impl ScryptHash {
    pub(super) fn matches(&self, password: &[u8]) -> bool {
        let mut made = Zeroizing::new(vec![0; self.digest.len()]);
        scrypt::scrypt(password, &self.salt, &self.params, &mut made).is_ok()
            && constant_time::verify_slices_are_equal(&made, &self.digest).is_ok()
    }
}
