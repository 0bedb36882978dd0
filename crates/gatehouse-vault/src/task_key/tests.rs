use std::collections::{HashMap, HashSet};

use super::*;
use crate::{MasterKey, PASSWORD_CHARS, Vault};

const TIME: u64 = 1_790_000_000_000;

fn key(byte: u8) -> TaskKey {
    TaskKey::from_bytes(&[byte; 32])
}

#[test]
fn derived_values_never_change() {
    // Running Tasks were derived like this: another result would break them.
    let key = key(7);
    assert_eq!(key.access_id(TIME, 99_999).to_string(), "01a0c450-6c00-7018-9a7d-ae32a9d81693");
    assert_eq!(key.username(99_999).as_str(), "u-pzvp5u3r4r3hmurb");
    assert_eq!(key.password(99_999).reveal(), "c4S79wN7XZ7rtVxXBa6huSdS");
    assert_eq!(key.salt(99_999), 0x3d4d_49e4_5dee_96d0_b8df_3f94_0360_77e6_u128.to_be_bytes());
    let nonce: Vec<u8> = (0..24).collect();
    let body =
        b"\x05\xef\xc3\xe7\x4f\x1d\x7a\xb8\xb0\xd1\x2a\x4e\xaf\x23\x4b\x96\x67\x0d\xc2\x89\x93\xa2";
    let sealed = [&[1], &nonce[..], body].concat();
    assert_eq!(key.open_part(3, &sealed).unwrap(), b"chosen");
}

#[test]
fn every_item_of_every_task_has_its_own_values() {
    let (mut ids, mut usernames) = (HashSet::new(), HashSet::new());
    let (mut passwords, mut salts) = (HashSet::new(), HashSet::new());
    for key in [key(1), key(2), TaskKey::draw(), TaskKey::draw()] {
        for ordinal in (0..1000).chain([99_999, 1 << 24, u32::MAX]) {
            assert!(ids.insert(key.access_id(TIME, ordinal)), "{ordinal}");
            assert!(usernames.insert(key.username(ordinal)), "{ordinal}");
            assert!(passwords.insert(key.password(ordinal).reveal().to_owned()), "{ordinal}");
            assert!(salts.insert(key.salt(ordinal)), "{ordinal}");
        }
    }
}

#[test]
fn no_two_uses_share_bytes() {
    use Purpose::{AccessId, Parts, Password, Salt, Username};
    let key = key(1);
    let mut blocks = HashSet::new();
    for purpose in [AccessId, Username, Password, Salt, Parts] {
        for (ordinal, round) in [(0, 0), (0, 1), (1, 0), (1, 1), (256, 0), (1 << 24, 0)] {
            let block = key.bytes_for(purpose, ordinal, round);
            for half in block.chunks(16) {
                assert!(blocks.insert(half.to_vec()), "{} {ordinal} {round}", purpose as u8);
            }
        }
    }
}

#[test]
fn ids_of_a_task_sort_by_ordinal_and_are_of_version_7() {
    let key = TaskKey::draw();
    let ids: Vec<_> = (0..3000).map(|ordinal| key.access_id(TIME, ordinal)).collect();
    assert!(ids.is_sorted());
    for id in ids {
        let text = id.to_string();
        assert_eq!((&text[14..15], text.parse()), ("7", Ok(id)));
        assert!(matches!(&text[19..20], "8" | "9" | "a" | "b"), "{text}");
        assert_eq!(id.as_bytes()[..6], TIME.to_be_bytes()[2..]);
    }
}

#[test]
fn derived_credentials_have_the_form_of_generated_ones() {
    let key = key(1);
    let mut letters: HashMap<char, u32> = HashMap::new();
    for ordinal in 0..5000 {
        let username = key.username(ordinal);
        let rest = username.as_str().strip_prefix("u-").unwrap();
        assert_eq!(rest.len(), 16);
        assert!(rest.bytes().all(|b| b.is_ascii_lowercase() || (b'2'..=b'7').contains(&b)));
        let password = key.password(ordinal);
        assert_eq!(password.reveal().len(), PASSWORD_CHARS);
        for letter in password.reveal().chars() {
            *letters.entry(letter).or_default() += 1;
        }
    }
    // 120,000 characters of 57 letters: 2105 of each, give or take 46. Bias makes it 1875 or 2344.
    assert_eq!(letters.len(), 57);
    assert!(letters.values().all(|n| (1900..2310).contains(n)), "{letters:?}");
    assert!(!letters.keys().any(|letter| "0O1lI".contains(*letter)));
}

#[test]
fn a_part_opens_at_its_position_and_with_its_key_alone() {
    let key = key(1);
    let sealed = key.seal_part(3, b"chosen");
    assert_eq!(key.open_part(3, &sealed).unwrap(), b"chosen");
    assert_ne!(sealed, key.seal_part(3, b"chosen"), "never the same twice");
    assert_eq!(key.open_part(2, &sealed), Err(BadSeal));
    assert_eq!(TaskKey::draw().open_part(3, &sealed), Err(BadSeal));
    assert_eq!(key.open_part(0, &key.seal_part(0, b"")).unwrap(), b"");
    for at in 0..sealed.len() {
        let mut altered = sealed.clone();
        altered[at] ^= 1;
        assert_eq!(key.open_part(3, &altered), Err(BadSeal), "byte {at}");
        assert_eq!(key.open_part(3, &sealed[..at]), Err(BadSeal), "cut at {at}");
    }
}

#[test]
fn a_task_key_opens_for_its_tenant_and_task_alone() {
    let vault = Vault::new(&MasterKey::generate().into());
    let (acme, other) = ("acme".parse().unwrap(), "other".parse().unwrap());
    let (task, another) = (TaskId::new(TIME, &[1; 10]), TaskId::new(TIME, &[2; 10]));
    let key = TaskKey::draw();
    let sealed = vault.seal_task_key(&acme, task, &key);
    let opened = vault.open_task_key(&acme, task, &sealed).unwrap();
    assert_eq!(opened.password(5), key.password(5));
    assert_eq!(opened.open_part(1, &key.seal_part(1, b"x")).unwrap(), b"x");
    assert_eq!(vault.open_task_key(&other, task, &sealed).err(), Some(BadSeal));
    assert_eq!(vault.open_task_key(&acme, another, &sealed).err(), Some(BadSeal));
    let stranger = Vault::new(&MasterKey::generate().into());
    assert_eq!(stranger.open_task_key(&acme, task, &sealed).err(), Some(BadSeal));
    let short = vault.seal(&purpose(&acme, task), b"short");
    assert_eq!(vault.open_task_key(&acme, task, &short).err(), Some(BadSeal));
}

#[test]
fn debug_hides_a_task_key() {
    assert_eq!(format!("{:?}", key(7)), "TaskKey(…)");
}
