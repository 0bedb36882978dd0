//! Fuzz targets for this crate's parsers; `gatehouse_core::fuzzing` says why they are here.

use std::sync::LazyLock;

use gatehouse_core::Timestamp;

use crate::key_set::part;
use crate::{BadMasterKeys, ForeignHash, KeySet, MasterKeys, TokenKeys, named_issuer, token_type};

/// A fuzz target: its name, and its function of any bytes.
type Target = (&'static str, fn(&[u8]));

/// All fuzz targets of this crate.
pub const TARGETS: &[Target] =
    &[("token", token), ("key-set", key_set), ("keys", keys), ("foreign-hash", foreign_hash)];

/// Keys of three kinds, as RFC 7517 and RFC 8037 print them.
const KEY_SET: &str = r#"{"keys":[
    {"kty":"OKP","crv":"Ed25519","kid":"ed","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},
    {"kty":"EC","crv":"P-256","kid":"ec","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"},
    {"kty":"RSA","kid":"rsa","e":"AQAB","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw"}
]}"#;

/// A token that RFC 8037 signs with the first of the keys. Its payload is no object, so it never has claims.
const TOKEN: &str = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.\
                     hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";

/// No text makes the token parser panic. A verified token has three parts and the claims that its payload shows.
fn token(bytes: &[u8]) {
    static KEYS: LazyLock<KeySet> =
        LazyLock::new(|| KeySet::parse(KEY_SET.as_bytes()).expect("the set above is one"));
    assert_eq!(KEYS.n_keys(), 3);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (named, _) = (named_issuer(text), token_type(text));
    if let Ok(claims) = KEYS.verify(text) {
        assert_eq!(text.split('.').count(), 3);
        assert_eq!(Some(&claims), part(text, 1).as_ref());
        assert_eq!(named.as_deref(), claims.get("iss").and_then(|it| it.as_str()));
    }
}

/// No bytes make the parser of issuers' keys panic. A set has at most as many keys as are read, and verifies no token
/// without claims.
fn key_set(bytes: &[u8]) {
    let Ok(keys) = KeySet::parse(bytes) else { return };
    assert!(keys.n_keys() <= 100);
    assert!(keys.verify(TOKEN).is_err());
    assert_eq!(KeySet::parse(bytes).map(|it| *it.digest()), Ok(*keys.digest()));
}

/// No text makes the parser of operators' keys panic: keys survive writing and reading, and an error names an existing
/// key.
fn keys(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let n_words = text.split_whitespace().count();
    match MasterKeys::parse(text) {
        Ok(keys) => assert_eq!(keys.fingerprints().len(), n_words),
        Err(BadMasterKeys::Malformed(n, n_keys)) => {
            assert!((1..=n_keys).contains(&n) && n_keys == n_words.max(1));
        }
        Err(BadMasterKeys::TooMany(n_keys)) => assert_eq!(n_keys, n_words),
        Err(BadMasterKeys::Twice(one, other)) => assert!(one < other && other <= n_words),
    }
    if let Ok(keys) = TokenKeys::from_bytes(bytes) {
        let written = keys.to_text();
        let again = TokenKeys::from_text(&written).expect("written keys parse");
        assert_eq!(*again.to_text(), *written);
        let now = Timestamp::EPOCH;
        assert_eq!(again.key_set(now).digest(), keys.key_set(now).digest());
    }
}

/// No text makes the parser of other programs' hashes panic. A parsed hash keeps its text, and a refusal never shows it.
fn foreign_hash(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match ForeignHash::parse(text.to_owned()) {
        Ok(hash) => assert_eq!(hash.reveal(), text),
        Err(refused) => {
            // Short parts may be words of the message.
            let parts = text.split('$').filter(|part| part.len() > 20);
            let shown = refused.to_string();
            parts.for_each(|part| assert!(!shown.contains(part), "{shown}"));
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_seed_of_the_fuzzer_passes() {
        gatehouse_testing::hold_seeds(super::TARGETS);
    }
}
