use super::*;

fn vault() -> Vault {
    Vault::new(&MasterKey::from_hex(&"0a".repeat(32)).unwrap())
}

fn password(text: &str) -> Password {
    Password::new(text.into()).unwrap()
}

#[tokio::test]
async fn both_schemes_tell_right_from_wrong() {
    let vault = vault();
    let right = generate_password();
    let fast = vault.hash_generated(&right);
    let slow = vault.hash_chosen(&right).await.unwrap();
    for stored in [fast, slow] {
        assert!(vault.check(&stored, &right).await.unwrap());
        assert!(vault.check(&stored, &right).await.unwrap(), "also when it is remembered");
        assert!(!vault.check(&stored, &password("wrong")).await.unwrap());
    }
}

#[tokio::test]
async fn every_stored_hash_names_its_scheme_and_key() {
    let vault = vault();
    let id = MasterKey::from_hex(&"0a".repeat(32)).unwrap().id();
    let fast = vault.hash_generated(&password("x"));
    assert!(fast.as_str().starts_with(&format!("hmac-sha256${id}$")), "{}", fast.as_str());
    let slow = vault.hash_chosen(&password("x")).await.unwrap();
    assert!(slow.as_str().starts_with(&format!("argon2id${id}$m=19456,t=2,p=1$")));
    let again = vault.hash_chosen(&password("x")).await.unwrap();
    assert_ne!(slow.as_str(), again.as_str(), "salted");
}

#[tokio::test]
async fn a_hash_of_another_key_or_scheme_is_an_error_not_a_wrong_password() {
    let other = Vault::new(&MasterKey::generate());
    let stored = other.hash_generated(&password("x"));
    for text in [stored.as_str(), "", "md5$0a$x", "argon2id$0a", "hmac-sha256$$"] {
        let checked = vault().check(&StoredHash::new(text.into()), &password("x")).await;
        assert!(matches!(checked, Err(VaultError::UnknownKey)), "{text}");
    }
}

#[tokio::test]
async fn a_rotation_makes_what_was_remembered_worthless() {
    let vault = vault();
    let old = password("old");
    let stored = vault.hash_chosen(&old).await.unwrap();
    assert!(vault.check(&stored, &old).await.unwrap());
    let rotated = vault.hash_chosen(&password("new")).await.unwrap();
    assert!(!vault.check(&rotated, &old).await.unwrap());
}

#[tokio::test]
async fn a_name_that_nobody_has_always_costs_the_same_kind_of_work() {
    let vault = vault();
    let names: Vec<String> = (0..200).map(|n| format!("nobody-{n}")).collect();
    let slow = names.iter().filter(|name| vault.hasher.pretends_slow(name)).count();
    assert!((60..140).contains(&slow), "about half of them: {slow}");
    for name in &names[..3] {
        vault.check_nothing(name, &password("x")).await.unwrap();
        assert_eq!(vault.hasher.pretends_slow(name), vault.hasher.pretends_slow(name));
    }
}

#[test]
fn generated_credentials_have_their_form() {
    let made: std::collections::HashSet<String> =
        (0..1000).map(|_| generate_password().reveal().to_owned()).collect();
    assert_eq!(made.len(), 1000);
    for password in &made {
        assert_eq!(password.chars().count(), PASSWORD_CHARS);
        assert!(!password.contains(['0', 'O', '1', 'l', 'I']), "{password}");
    }
    let bits = (57_f64).log2() * PASSWORD_CHARS as f64;
    assert!(bits > 128.0, "{bits}");

    let username = generate_username();
    let rest = username.as_str().strip_prefix("u-").unwrap();
    assert_eq!(rest.len(), 16);
    assert!(rest.bytes().all(|b| b.is_ascii_lowercase() || (b'2'..=b'7').contains(&b)));
}

#[test]
fn a_seal_opens_for_its_purpose_alone() {
    let vault = vault();
    let sealed = vault.seal("token key", b"secret");
    assert_eq!(vault.unseal("token key", &sealed).unwrap(), b"secret");
    assert_ne!(sealed, vault.seal("token key", b"secret"), "never the same twice");
    assert_eq!(vault.unseal("task key", &sealed), Err(BadSeal));
    assert_eq!(Vault::new(&MasterKey::generate()).unseal("token key", &sealed), Err(BadSeal));
    for at in 0..sealed.len() {
        let mut bent = sealed.clone();
        bent[at] ^= 1;
        assert_eq!(vault.unseal("token key", &bent), Err(BadSeal), "byte {at}");
        assert_eq!(vault.unseal("token key", &sealed[..at]), Err(BadSeal), "cut at {at}");
    }
}

#[test]
fn what_was_sealed_long_ago_still_opens() {
    let nonce: Vec<u8> = (0..24).collect();
    let body =
        b"\xfa\x66\x93\x3b\xda\x26\x33\xb1\xf2\x11\xa7\xb0\x6c\xec\xdf\x48\xad\x27\x47\xa3\xcb\x0f";
    let sealed = [b"\x01aae3d175", &nonce[..], body].concat();
    assert_eq!(vault().unseal("token key", &sealed).unwrap(), b"secret");
}

#[test]
fn a_master_key_is_64_hexadecimal_characters() {
    let hex = "0123456789abcdefABCDEF0123456789".repeat(2);
    assert!(MasterKey::from_hex(&format!("  {hex}\n")).is_ok());
    for bad in ["", &hex[1..], &format!("{hex}0"), &hex.replace('a', "g"), &"é".repeat(32)] {
        assert_eq!(MasterKey::from_hex(bad).err(), Some(BadMasterKey), "{bad}");
    }
    assert!(!format!("{:?}", MasterKey::generate()).contains("0"));
}

#[test]
fn key_files_are_for_their_owner_and_are_never_replaced() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let (master_path, token_path) = (dir.path().join("m.key"), dir.path().join("t.key"));
    assert!(MasterKey::load(&master_path).unwrap().is_none());

    let (master, token) = (MasterKey::generate(), TokenKey::generate());
    master.save(&master_path).unwrap();
    token.save(&token_path).unwrap();
    let read = MasterKey::load(&master_path).unwrap().unwrap();
    assert_eq!(read.fingerprint(), master.fingerprint());
    assert_eq!(TokenKey::load(&token_path).unwrap().unwrap().to_bytes(), token.to_bytes());
    for path in [&master_path, &token_path] {
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert!(MasterKey::generate().save(&master_path).is_err());
    assert_eq!(MasterKey::load(&master_path).unwrap().unwrap().fingerprint(), master.fingerprint());

    std::fs::write(&token_path, "nonsense").unwrap();
    let error = TokenKey::load(&token_path).unwrap_err().to_string();
    assert!(error.contains("t.key") && error.contains("Ed25519"), "{error}");
}

#[tokio::test]
async fn a_hash_is_recognised_by_how_it_was_made() {
    let vault = vault();
    let right = password("x");
    let fast = vault.hash_generated(&right);
    let slow = vault.hash_quietly(vec![(right.clone(), [7; 16])]).await.remove(0);
    assert!(vault.is_hash_of_generated(&fast, &right));
    assert!(!vault.is_hash_of_generated(&fast, &password("y")));
    assert!(vault.has_salt(&slow, &[7; 16]));
    assert!(!vault.has_salt(&slow, &[8; 16]));

    assert!(!vault.is_hash_of_generated(&slow, &right), "a chosen one is no generated one");
    assert!(!vault.has_salt(&fast, &[7; 16]), "and the other way round");
    let drawn = vault.hash_chosen(&right).await.unwrap();
    assert!(!vault.has_salt(&drawn, &[7; 16]));
    let other = Vault::new(&MasterKey::generate());
    assert!(!other.is_hash_of_generated(&fast, &right), "made with another key");
    assert!(!other.has_salt(&slow, &[7; 16]));
    for text in ["", "hmac-sha256$", "argon2id$0a$m=1", "md5$0a$x"] {
        let stored = StoredHash::new(text.into());
        assert!(!vault.is_hash_of_generated(&stored, &right), "{text}");
        assert!(!vault.has_salt(&stored, &[7; 16]), "{text}");
    }
}
