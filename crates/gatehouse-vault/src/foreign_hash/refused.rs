//! Schemes that are refused, recognised by their form, so that the client learns the reason.

use super::BadForeignHash;

/// Beginnings of weak schemes, and their names.
const WEAK: &[(&str, &str)] = &[
    ("$1$", "MD5-crypt"),
    ("$apr1$", "Apache's MD5-crypt"),
    ("$md5", "Sun's MD5-crypt"),
    ("{SMD5}", "a salted MD5"),
    ("md5$", "a salted MD5"),
    ("$3$", "an NT hash"),
    ("$NT$", "an NT hash"),
    ("{NT}", "an NT hash"),
    ("{MD5}", "an unsalted MD5"),
    ("unsalted_", "an unsalted hash"),
    ("{SHA}", "an unsalted SHA-1"),
    ("{SHA256}", "an unsalted SHA-256"),
    ("{SHA512}", "an unsalted SHA-512"),
    ("{SSHA", "a salted SHA of one pass"),
    ("sha1$", "a salted SHA-1"),
    ("$2x$", "bcrypt of a faulty program (`$2x$`)"),
    ("$argon2d$", "argon2d"),
];

/// Marks of clear text.
const CLEAR: &[&str] = &["{PLAIN}", "{CLEAR}", "{CLEARTEXT}", "$0$"];

/// The reason why a text is refused that is no accepted hash.
pub(super) fn reason(text: &str) -> BadForeignHash {
    let starts_with =
        |mark: &str| text.get(..mark.len()).is_some_and(|start| start.eq_ignore_ascii_case(mark));
    if let Some((_, name)) = WEAK.iter().find(|(mark, _)| starts_with(mark)) {
        return BadForeignHash::Weak(name);
    }
    if CLEAR.iter().any(|mark| starts_with(mark)) {
        return BadForeignHash::ClearText;
    }
    if let Some(name) = unsalted(text) {
        return BadForeignHash::Weak(name);
    }
    let is_of_crypt = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/');
    if text.len() == 13 && text.bytes().all(is_of_crypt) {
        return BadForeignHash::Weak("DES-crypt or clear text");
    }
    match text.contains('$') || text.starts_with('{') {
        true => BadForeignHash::Unknown,
        false => BadForeignHash::ClearText,
    }
}

/// The name of an unsalted hash in hexadecimal digits, by its length.
fn unsalted(text: &str) -> Option<&'static str> {
    // LM and NT hashes stand side by side in dumps of Windows.
    let (first, second) = text.split_once(':').unwrap_or((text, ""));
    let is_hex = [first, second].iter().all(|it| it.bytes().all(|byte| byte.is_ascii_hexdigit()));
    match (is_hex, first.len(), second.len()) {
        (true, 32, 32) => Some("an NT hash"),
        (true, 32, 0) => Some("an unsalted MD5 or an NT hash"),
        (true, 40, 0) => Some("an unsalted SHA-1"),
        (true, 64, 0) => Some("an unsalted SHA-256"),
        (true, 128, 0) => Some("an unsalted SHA-512"),
        _ => None,
    }
}
