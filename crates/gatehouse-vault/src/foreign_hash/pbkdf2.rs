//! PBKDF2 as four programs write it, and the salted SHA-512 of old versions of mosquitto.
//!
//! ```text
//! $7$101$salt$hash                                mosquitto: SHA-512, Base64, 64 bytes
//! $6$salt$hash                                    mosquitto before 2.0: one SHA-512 of password and salt, 88 characters
//! PBKDF2$sha512$100000$salt$hash                  mosquitto-go-auth: SHA-256 or SHA-512, Base64
//! pbkdf2_sha256$600000$salt$hash                  Django: the salt is text
//! $pbkdf2-sha256$i=600000,l=32$salt$hash          PHC, where the length may be left out
//! $pbkdf2-sha256$29000$salt$hash                  passlib, whose Base64 has `.` for `+`
//! ```

use std::num::NonZeroU32;

use aws_lc_rs::{constant_time, digest as sha, pbkdf2};

use super::{BadForeignHash, ITERATIONS_MAX, SALT_BYTES_MAX, bounded, digest, number, salt};

/// Bytes of SHA-512.
const SHA512_BYTES: usize = 64;

/// Characters of SHA-512 in Base64 with its padding; crypt's have 86.
const SHA512_CHARS: usize = 88;

/// A hash by PBKDF2.
#[derive(Clone)]
pub(super) struct Pbkdf2Hash {
    algorithm: pbkdf2::Algorithm,
    iterations: NonZeroU32,
    salt: Vec<u8>,
    digest: Vec<u8>,
}

/// SHA-512 of a password and a salt, once.
#[derive(Clone)]
pub(super) struct SaltedSha512 {
    salt: Vec<u8>,
    digest: Vec<u8>,
}

/// Parses the fields behind mosquitto's `$7$`.
pub(super) fn parse_mosquitto(fields: &[&str]) -> Result<Pbkdf2Hash, BadForeignHash> {
    let expected = "`$7$`, iterations, `$`, a salt, `$` and 64 bytes, both in Base64";
    let malformed = BadForeignHash::Malformed { scheme: "PBKDF2 of mosquitto", expected };
    let [iterations, salt_text, digest_text] = *fields else { return Err(malformed) };
    let digest = digest(digest_text).filter(|it| it.len() == SHA512_BYTES);
    let parts = (number(iterations), salt(salt_text), digest);
    pbkdf2_hash(pbkdf2::PBKDF2_HMAC_SHA512, parts, malformed)
}

/// Parses the fields behind mosquitto-go-auth's `PBKDF2$`.
pub(super) fn parse_go_auth(fields: &[&str]) -> Result<Pbkdf2Hash, BadForeignHash> {
    let expected = "`PBKDF2$`, `sha256` or `sha512`, `$`, iterations, `$`, a salt, `$` and 16 to 64 bytes, \
                    both in Base64";
    let malformed = BadForeignHash::Malformed { scheme: "PBKDF2 of mosquitto-go-auth", expected };
    let [function, iterations, salt_text, digest_text] = *fields else { return Err(malformed) };
    let algorithm = match function {
        "sha256" => pbkdf2::PBKDF2_HMAC_SHA256,
        "sha512" => pbkdf2::PBKDF2_HMAC_SHA512,
        _ => return Err(malformed),
    };
    let parts = (number(iterations), salt(salt_text), digest(digest_text));
    pbkdf2_hash(algorithm, parts, malformed)
}

/// Parses the fields behind Django's `pbkdf2_sha256$`.
pub(super) fn parse_django(fields: &[&str]) -> Result<Pbkdf2Hash, BadForeignHash> {
    let expected =
        "`pbkdf2_sha256$`, iterations, `$`, a salt as text, `$` and 16 to 64 bytes in Base64";
    let malformed = BadForeignHash::Malformed { scheme: "PBKDF2 of Django", expected };
    let [iterations, salt, digest_text] = *fields else { return Err(malformed) };
    let salt = Some(salt.as_bytes().to_vec());
    let salt = salt.filter(|it| (1..=SALT_BYTES_MAX).contains(&it.len()));
    let parts = (number(iterations), salt, digest(digest_text));
    pbkdf2_hash(pbkdf2::PBKDF2_HMAC_SHA256, parts, malformed)
}

/// Parses the fields behind `$pbkdf2-sha256$`.
pub(super) fn parse_phc_sha256(fields: &[&str]) -> Result<Pbkdf2Hash, BadForeignHash> {
    let expected =
        "`$pbkdf2-sha256$i=…,l=…$salt$hash` with Base64 of at most 64, and of 16 to 64 bytes";
    let malformed = BadForeignHash::Malformed { scheme: "PBKDF2 of PHC", expected };
    parse_phc(fields, pbkdf2::PBKDF2_HMAC_SHA256, malformed)
}

/// Parses the fields behind `$pbkdf2-sha512$`.
pub(super) fn parse_phc_sha512(fields: &[&str]) -> Result<Pbkdf2Hash, BadForeignHash> {
    let expected =
        "`$pbkdf2-sha512$i=…,l=…$salt$hash` with Base64 of at most 64, and of 16 to 64 bytes";
    let malformed = BadForeignHash::Malformed { scheme: "PBKDF2 of PHC", expected };
    parse_phc(fields, pbkdf2::PBKDF2_HMAC_SHA512, malformed)
}

fn parse_phc(
    fields: &[&str],
    algorithm: pbkdf2::Algorithm,
    malformed: BadForeignHash,
) -> Result<Pbkdf2Hash, BadForeignHash> {
    let [params, salt_text, digest_text] = *fields else { return Err(malformed) };
    let (salt, digest) = (salt(&standard(salt_text)), digest(&standard(digest_text)));
    let Some(named) = params.strip_prefix("i=") else {
        return pbkdf2_hash(algorithm, (number(params), salt, digest), malformed);
    };
    let (iterations, length) = match named.split_once(",l=") {
        Some((iterations, length)) => match number(length) {
            Some(length) => (iterations, Some(length as usize)),
            None => return Err(malformed),
        },
        None => (named, None),
    };
    let digest = digest.filter(|it| length.is_none_or(|length| length == it.len()));
    pbkdf2_hash(algorithm, (number(iterations), salt, digest), malformed)
}

/// Base64 with `+`, as others write passlib's `.`.
fn standard(text: &str) -> String {
    text.replace('.', "+")
}

/// Iterations, salt and digest, as far as they could be read.
type Parts = (Option<u32>, Option<Vec<u8>>, Option<Vec<u8>>);

fn pbkdf2_hash(
    algorithm: pbkdf2::Algorithm,
    parts: Parts,
    malformed: BadForeignHash,
) -> Result<Pbkdf2Hash, BadForeignHash> {
    let (Some(iterations), Some(salt), Some(digest)) = parts else { return Err(malformed) };
    bounded("number of iterations of PBKDF2", iterations.into(), 1, ITERATIONS_MAX.into())?;
    let iterations = NonZeroU32::new(iterations).ok_or(malformed)?;
    Ok(Pbkdf2Hash { algorithm, iterations, salt, digest })
}

/// Whether the fields behind `$6$` are those of an old version of mosquitto, not of crypt.
pub(super) fn is_salted_sha512(fields: &[&str]) -> bool {
    matches!(fields, [_, digest] if digest.len() == SHA512_CHARS)
}

/// Parses the fields behind the `$6$` of an old version of mosquitto.
pub(super) fn parse_salted_sha512(fields: &[&str]) -> Result<SaltedSha512, BadForeignHash> {
    let expected = "`$6$`, a salt, `$` and 64 bytes, both in Base64";
    let malformed = BadForeignHash::Malformed { scheme: "mosquitto's old hash", expected };
    let [salt_text, digest_text] = *fields else { return Err(malformed) };
    let digest = digest(digest_text).filter(|it| it.len() == SHA512_BYTES);
    let (Some(salt), Some(digest)) = (salt(salt_text), digest) else { return Err(malformed) };
    Ok(SaltedSha512 { salt, digest })
}

impl Pbkdf2Hash {
    pub(super) fn matches(&self, password: &[u8]) -> bool {
        pbkdf2::verify(self.algorithm, self.iterations, &self.salt, password, &self.digest).is_ok()
    }
}

impl SaltedSha512 {
    pub(super) fn matches(&self, password: &[u8]) -> bool {
        let mut context = sha::Context::new(&sha::SHA512);
        context.update(password);
        context.update(&self.salt);
        constant_time::verify_slices_are_equal(context.finish().as_ref(), &self.digest).is_ok()
    }
}
