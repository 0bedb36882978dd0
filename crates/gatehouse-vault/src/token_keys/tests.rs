use super::*;
use crate::BadToken;

fn at(second: i64) -> Timestamp {
    Timestamp::from_millisecond((1_800_000_000 + second) * 1000).unwrap()
}

fn signed_by(keys: &TokenKeys) -> String {
    keys.sign(json!({"sub": "ann"}).as_object().unwrap())
}

#[test]
fn tokens_of_a_former_key_are_trusted_for_a_while() {
    let first = TokenKeys::generate();
    let second = first.rotated(at(100), at(0)).unwrap();
    let third = second.rotated(at(200), at(10)).unwrap();
    let tokens = [&first, &second, &third].map(signed_by);
    let trusted = |now| {
        let keys = third.key_set(now);
        tokens.each_ref().map(|token| keys.verify(token).is_ok())
    };
    assert_eq!(trusted(at(10)), [true, true, true]);
    assert_eq!(trusted(at(100)), [false, true, true]);
    assert_eq!(trusted(at(200)), [false, false, true]);
    assert_eq!(third.jwks(at(10))["keys"].as_array().unwrap().len(), 3);
    assert_eq!(third.jwks(at(10))["keys"][0]["kid"], third.id());
    let refused = first.key_set(at(0)).verify(&tokens[1]);
    assert_eq!(
        refused.unwrap_err(),
        BadToken::UnknownKey,
        "an outdated key set reports an unknown key"
    );
    let sooner = third.rotated(at(20), at(10)).unwrap();
    assert_eq!(sooner.key_set(at(19)).n_keys(), 4);
    assert_eq!(sooner.key_set(at(20)).n_keys(), 1, "a rotation shortens the trust in former keys");
    assert_eq!(third.rotated(at(10), at(10)).unwrap().key_set(at(10)).n_keys(), 1);
}

#[test]
fn written_keys_lack_former_private_keys() {
    let first = TokenKeys::generate();
    let second = first.rotated(at(100), at(0)).unwrap();
    let text = second.to_text();
    let read = TokenKeys::from_text(&text).unwrap();
    assert_eq!(*read.to_text(), *text);
    assert_eq!(read.jwks(at(0)), second.jwks(at(0)));
    assert_eq!(TokenKeys::from_bytes(text.as_bytes()).unwrap().id(), second.id());
    let private = first.to_text();
    assert!(!text.contains(private.trim()), "the private part is gone");

    // As older versions stored it.
    let old = TokenKeys::from_bytes(first.signing.to_bytes()).unwrap();
    assert_eq!(old.id(), first.id());

    let key = text.lines().next().unwrap();
    for bad in
        ["", "x", &format!("{key}\nformer x until 2030-01-01T00:00:00Z"), &format!("{key}\n{key}")]
    {
        assert!(TokenKeys::from_text(bad).is_err(), "{bad}");
    }
}

#[test]
fn the_number_of_former_keys_is_limited() {
    let mut keys = TokenKeys::generate();
    for n in 0..50 {
        keys = keys.rotated(at(100 + n), at(0)).unwrap();
    }
    assert_eq!(keys.rotated(at(200), at(0)).unwrap_err(), TooManyTokenKeys);
    assert!(keys.rotated(at(200), at(100)).is_ok(), "one is forgotten by then");
}

#[test]
fn a_key_file_is_replaced_atomically() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("token.key");
    let first = TokenKeys::generate();
    first.save(&path).unwrap();
    let second = first.rotated(at(100), at(0)).unwrap();
    assert!(second.save(&path).is_err(), "only replacing replaces");
    second.replace(&path).unwrap();
    assert_eq!(*TokenKeys::load(&path).unwrap().unwrap().to_text(), *second.to_text());
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary file is left");
}
