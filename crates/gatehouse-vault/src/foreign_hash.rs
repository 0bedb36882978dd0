//! Password hashes that other programs made, so that a fleet can move here with the passwords that its devices have.
//!
//! A hash is parsed once, when a client sends it: its format is known and its cost is within bounds, or it is refused
//! with the reason. It is stored sealed. The first right password replaces it by a hash of our own.
//!
//! | module | formats |
//! |---|---|
//! | `crypt` | bcrypt, and crypt's `$5$` and `$6$` |
//! | `phc` | argon2id, argon2i and scrypt |
//! | `pbkdf2` | PBKDF2 as mosquitto, mosquitto-go-auth, Django and PHC write it, and mosquitto's old `$6$` |
//! | `refused` | schemes that are recognised, and refused |

mod crypt;
mod pbkdf2;
mod phc;
mod refused;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use gatehouse_core::credential::Password;
use zeroize::Zeroizing;

/// Most bytes of a hash. A batch's encoding relies on a length that fits into one byte.
pub const FOREIGN_HASH_BYTES_MAX: usize = 255;

/// Highest cost of bcrypt: a check takes about a second.
const BCRYPT_COST_MAX: u32 = 14;

/// Most iterations of PBKDF2, and rounds of crypt's `$5$` and `$6$`.
const ITERATIONS_MAX: u32 = 2_000_000;

/// Most memory of one check by argon2 or scrypt, in MiB.
const MEMORY_MIB_MAX: u64 = 256;

/// Most passes of argon2 or scrypt over their memory.
const PASSES_MAX: u32 = 10;

/// Fewest and most bytes of the digest in a hash: less would let wrong passwords in, more only costs time.
const DIGEST_BYTES: std::ops::RangeInclusive<usize> = 16..=64;

/// Most bytes of a salt.
const SALT_BYTES_MAX: usize = 64;

/// Base64, whether padded or not.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A password hash that another program made, in a known format and with bounded costs.
#[derive(Clone)]
pub struct ForeignHash {
    text: Zeroizing<String>,
    scheme: Scheme,
}

/// The parsed parameters of a hash.
#[derive(Clone)]
enum Scheme {
    Bcrypt,
    ShaCrypt,
    Argon2(phc::Argon2Hash),
    Scrypt(phc::ScryptHash),
    Pbkdf2(pbkdf2::Pbkdf2Hash),
    SaltedSha512(pbkdf2::SaltedSha512),
}

/// Why a text can't be a password hash; continues after the field's name and never repeats the value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadForeignHash {
    /// The text is too short or too long.
    #[error("must have 1 to {FOREIGN_HASH_BYTES_MAX} bytes, not {0}")]
    Length(usize),
    /// No known program writes this.
    #[error(
        "is in no known format: it must be bcrypt (`$2a$`, `$2b$`, `$2y$`), argon2id, argon2i or scrypt (PHC), crypt's \
         `$5$` or `$6$`, or PBKDF2 with SHA-256 or SHA-512 as mosquitto (`$7$`), mosquitto-go-auth (`PBKDF2$`), Django \
         (`pbkdf2_sha256$`) or PHC write it; give clear text as `password`"
    )]
    Unknown,
    /// The password itself, as far as can be told.
    #[error("is no hash but looks like clear text: give that as `password`")]
    ClearText,
    /// A scheme that is too weak.
    #[error("is {0}, which is too weak: give the password as `password`, or hash it as bcrypt")]
    Weak(&'static str),
    /// The scheme is known, but the rest isn't as it should be.
    #[error("begins like {scheme}, but isn't {expected}")]
    Malformed {
        /// The scheme's name.
        scheme: &'static str,
        /// The form that is expected.
        expected: &'static str,
    },
    /// A parameter would make checks too expensive, or is too small.
    #[error("has {value} as its {parameter}, which must be {least} to {most}")]
    OutOfBounds {
        /// The parameter's name.
        parameter: &'static str,
        /// The parameter's value.
        value: u64,
        /// The least accepted value.
        least: u64,
        /// The greatest accepted value.
        most: u64,
    },
}

impl ForeignHash {
    /// Parses a hash that a client sent.
    pub fn parse(text: String) -> Result<Self, BadForeignHash> {
        let text = Zeroizing::new(text);
        if !(1..=FOREIGN_HASH_BYTES_MAX).contains(&text.len()) {
            return Err(BadForeignHash::Length(text.len()));
        }
        let scheme = parse_scheme(&text)?;
        Ok(Self { text, scheme })
    }

    /// The hash as the other program wrote it.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// The name of the hash's format.
    pub fn format(&self) -> &'static str {
        match &self.scheme {
            Scheme::Bcrypt => "bcrypt",
            Scheme::ShaCrypt => "SHA-crypt",
            Scheme::Argon2(_) => "argon2",
            Scheme::Scrypt(_) => "scrypt",
            Scheme::Pbkdf2(_) => "PBKDF2",
            Scheme::SaltedSha512(_) => "salted SHA-512",
        }
    }

    /// Whether this is the hash of the password. Slow.
    pub(crate) fn matches(&self, password: &Password) -> bool {
        let password = password.reveal().as_bytes();
        match &self.scheme {
            Scheme::Bcrypt => crypt::is_bcrypt_of(&self.text, password),
            Scheme::ShaCrypt => crypt::is_sha_crypt_of(&self.text, password),
            Scheme::Argon2(hash) => hash.matches(password),
            Scheme::Scrypt(hash) => hash.matches(password),
            Scheme::Pbkdf2(hash) => hash.matches(password),
            Scheme::SaltedSha512(hash) => hash.matches(password),
        }
    }
}

impl PartialEq for ForeignHash {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for ForeignHash {}

impl std::fmt::Debug for ForeignHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ForeignHash(…)")
    }
}

/// Finds the scheme by the start of the text, and parses the rest.
fn parse_scheme(text: &str) -> Result<Scheme, BadForeignHash> {
    let mut fields = text.split('$');
    // A text that begins with `$` has an empty field first.
    let start = match fields.next() {
        Some("") => fields.next().unwrap_or_default(),
        Some("PBKDF2") if text.contains('$') => "PBKDF2$",
        Some("pbkdf2_sha256") if text.contains('$') => "pbkdf2_sha256$",
        _ => return Err(refused::reason(text)),
    };
    let fields: Vec<&str> = fields.collect();
    match start {
        "2a" | "2b" | "2y" => crypt::check_bcrypt(text).map(|()| Scheme::Bcrypt),
        "6" if pbkdf2::is_salted_sha512(&fields) => {
            pbkdf2::parse_salted_sha512(&fields).map(Scheme::SaltedSha512)
        }
        "5" => crypt::check_sha256_crypt(&fields).map(|()| Scheme::ShaCrypt),
        "6" => crypt::check_sha512_crypt(&fields).map(|()| Scheme::ShaCrypt),
        "7" => pbkdf2::parse_mosquitto(&fields).map(Scheme::Pbkdf2),
        "PBKDF2$" => pbkdf2::parse_go_auth(&fields).map(Scheme::Pbkdf2),
        "pbkdf2_sha256$" => pbkdf2::parse_django(&fields).map(Scheme::Pbkdf2),
        "pbkdf2-sha256" => pbkdf2::parse_phc_sha256(&fields).map(Scheme::Pbkdf2),
        "pbkdf2-sha512" => pbkdf2::parse_phc_sha512(&fields).map(Scheme::Pbkdf2),
        "argon2id" => phc::parse_argon2id(&fields).map(Scheme::Argon2),
        "argon2i" => phc::parse_argon2i(&fields).map(Scheme::Argon2),
        "scrypt" => phc::parse_scrypt(&fields).map(Scheme::Scrypt),
        _ => Err(refused::reason(text)),
    }
}

/// Checks a parameter against its bounds.
fn bounded(
    parameter: &'static str,
    value: u64,
    least: u64,
    most: u64,
) -> Result<(), BadForeignHash> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(BadForeignHash::OutOfBounds { parameter, value, least, most })
}

/// Parses a decimal number as programs write it: digits alone, without a leading zero.
fn number(text: &str) -> Option<u32> {
    let is_plain = text.bytes().all(|it| it.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|_| is_plain)
}

/// Decodes a salt in Base64.
fn salt(text: &str) -> Option<Vec<u8>> {
    BASE64.decode(text).ok().filter(|it| (1..=SALT_BYTES_MAX).contains(&it.len()))
}

/// Decodes a digest in Base64.
fn digest(text: &str) -> Option<Vec<u8>> {
    BASE64.decode(text).ok().filter(|it| DIGEST_BYTES.contains(&it.len()))
}

#[cfg(test)]
mod tests;
