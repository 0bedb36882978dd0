use std::sync::LazyLock;

use tokio_util::sync::CancellationToken;

use super::*;

fn vault() -> Vault {
    Vault::new(&MasterKeys::parse(&"0a".repeat(32)).unwrap())
}

/// A caller whose client never disconnects.
pub(crate) fn caller() -> HashCaller<'static> {
    static ACME: LazyLock<TenantName> = LazyLock::new(|| "acme".parse().unwrap());
    static NEVER: LazyLock<CancellationToken> = LazyLock::new(CancellationToken::new);
    HashCaller { tenant: &ACME, disconnection: &*NEVER }
}

fn password(text: &str) -> Password {
    Password::new(text.into()).unwrap()
}

#[tokio::test]
async fn both_schemes_distinguish_right_from_wrong_passwords() {
    let vault = vault();
    let right = generate_password();
    let fast = vault.hash_generated(&right);
    let slow = vault.hash_chosen(caller(), &right).await.unwrap();
    for stored in [fast, slow] {
        assert!(vault.check(caller(), &stored, &right).await.unwrap());
        assert!(vault.check(caller(), &stored, &right).await.unwrap(), "also from the cache");
        assert!(!vault.check(caller(), &stored, &password("wrong")).await.unwrap());
    }
}

#[tokio::test]
async fn every_stored_hash_names_its_scheme_and_key() {
    let vault = vault();
    let id = &MasterKeys::parse(&"0a".repeat(32)).unwrap().fingerprints()[0][..8];
    let fast = vault.hash_generated(&password("x"));
    assert!(fast.as_str().starts_with(&format!("hmac-sha256${id}$")), "{}", fast.as_str());
    let slow = vault.hash_chosen(caller(), &password("x")).await.unwrap();
    assert!(slow.as_str().starts_with(&format!("argon2id${id}$m=19456,t=2,p=1$")));
    let again = vault.hash_chosen(caller(), &password("x")).await.unwrap();
    assert_ne!(slow.as_str(), again.as_str(), "salted");
}

#[test]
fn the_hash_of_a_generated_password_never_changes() {
    // Every database has such hashes: another result would lock every device out.
    let right = password("c4S79wN7XZ7rtVxXBa6huSdS");
    let kept = "hmac-sha256$aae3d175$fWuozcyixK2X3Wb3MtbadJR7JdAMRlQWseWWN91bvB0";
    assert_eq!(vault().hash_generated(&right).as_str(), kept);
    for altered in
        [&kept[..kept.len() - 1], &format!("{kept}A"), &format!("{kept}$"), &format!("{kept}=")]
    {
        let altered = StoredHash::new(altered.to_owned());
        assert!(!vault().is_hash_of_generated(&altered, &right), "{}", altered.as_str());
    }
}

#[tokio::test]
async fn a_hash_of_another_key_or_scheme_is_an_error_not_a_wrong_password() {
    let other = Vault::new(&MasterKey::generate().into());
    let stored = other.hash_generated(&password("x"));
    for text in [stored.as_str(), "", "md5$0a$x", "argon2id$0a", "hmac-sha256$$"] {
        let checked = vault().check(caller(), &StoredHash::new(text.into()), &password("x")).await;
        assert!(matches!(checked, Err(VaultError::UnknownKey)), "{text}");
    }
}

#[tokio::test]
async fn a_rotation_invalidates_cached_checks() {
    let vault = vault();
    let old = password("old");
    let stored = vault.hash_chosen(caller(), &old).await.unwrap();
    assert!(vault.check(caller(), &stored, &old).await.unwrap());
    let rotated = vault.hash_chosen(caller(), &password("new")).await.unwrap();
    assert!(!vault.check(caller(), &rotated, &old).await.unwrap());
}

#[tokio::test]
async fn an_unknown_username_always_costs_the_same_kind_of_work() {
    let vault = vault();
    let names: Vec<String> = (0..200).map(|n| format!("nobody-{n}")).collect();
    let slow = names.iter().filter(|name| vault.hasher.unknown_is_slow(name)).count();
    assert!((60..140).contains(&slow), "about half of them: {slow}");
    for name in &names[..3] {
        vault.check_unknown(caller(), name, &password("x")).await.unwrap();
        assert_eq!(vault.hasher.unknown_is_slow(name), vault.hasher.unknown_is_slow(name));
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
    assert_eq!(
        Vault::new(&MasterKey::generate().into()).unseal("token key", &sealed),
        Err(BadSeal)
    );
    for at in 0..sealed.len() {
        let mut altered = sealed.clone();
        altered[at] ^= 1;
        assert_eq!(vault.unseal("token key", &altered), Err(BadSeal), "byte {at}");
        assert_eq!(vault.unseal("token key", &sealed[..at]), Err(BadSeal), "cut at {at}");
    }
}

#[test]
fn an_old_seal_still_opens() {
    let nonce: Vec<u8> = (0..24).collect();
    let body =
        b"\xfa\x66\x93\x3b\xda\x26\x33\xb1\xf2\x11\xa7\xb0\x6c\xec\xdf\x48\xad\x27\x47\xa3\xcb\x0f";
    let sealed = [b"\x01aae3d175", &nonce[..], body].concat();
    assert_eq!(vault().unseal("token key", &sealed).unwrap(), b"secret");
}

#[test]
fn key_files_are_private_and_never_replaced() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let (master_path, token_path) = (dir.path().join("m.key"), dir.path().join("t.key"));
    assert!(MasterKeys::load(&master_path).unwrap().is_none());

    let (master, token) = (MasterKey::generate(), TokenKeys::generate());
    master.save(&master_path).unwrap();
    token.save(&token_path).unwrap();
    let read = MasterKeys::load(&master_path).unwrap().unwrap();
    assert_eq!(read.fingerprints(), [master.fingerprint()]);
    assert_eq!(*TokenKeys::load(&token_path).unwrap().unwrap().to_text(), *token.to_text());
    for path in [&master_path, &token_path] {
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert!(MasterKey::generate().save(&master_path).is_err());
    let read = MasterKeys::load(&master_path).unwrap().unwrap();
    assert_eq!(read.fingerprints(), [master.fingerprint()]);

    std::fs::write(&token_path, "nonsense").unwrap();
    let error = TokenKeys::load(&token_path).unwrap_err().to_string();
    assert!(error.contains("t.key") && error.contains("Ed25519"), "{error}");
}

#[tokio::test]
async fn a_hash_matches_only_its_scheme_salt_and_key() {
    let vault = vault();
    let right = password("x");
    let fast = vault.hash_generated(&right);
    let slow = vault.hash_batch(vec![(right.clone(), [7; 16])]).await.remove(0);
    assert!(vault.is_hash_of_generated(&fast, &right));
    assert!(!vault.is_hash_of_generated(&fast, &password("y")));
    assert!(vault.has_salt(&slow, &[7; 16]));
    assert!(!vault.has_salt(&slow, &[8; 16]));

    assert!(!vault.is_hash_of_generated(&slow, &right), "a chosen one is no generated one");
    assert!(!vault.has_salt(&fast, &[7; 16]), "and the other way round");
    let drawn = vault.hash_chosen(caller(), &right).await.unwrap();
    assert!(!vault.has_salt(&drawn, &[7; 16]));
    let other = Vault::new(&MasterKey::generate().into());
    assert!(!other.is_hash_of_generated(&fast, &right), "made with another key");
    assert!(!other.has_salt(&slow, &[7; 16]));
    for text in ["", "hmac-sha256$", "argon2id$0a$m=1", "md5$0a$x"] {
        let stored = StoredHash::new(text.into());
        assert!(!vault.is_hash_of_generated(&stored, &right), "{text}");
        assert!(!vault.has_salt(&stored, &[7; 16]), "{text}");
    }
}

/// A vault with keys of these bytes, the first first.
fn keyed(bytes: &[u8]) -> Vault {
    let keys: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}").repeat(32)).collect();
    Vault::new(&MasterKeys::parse(&keys.join(" ")).unwrap())
}

#[tokio::test]
async fn hashes_and_seals_of_a_former_key_are_checked_and_opened_with_it() {
    let old = keyed(&[1]);
    let right = generate_password();
    let hashes = [old.hash_generated(&right), old.hash_chosen(caller(), &right).await.unwrap()];
    let sealed = old.seal("a thing", b"secret");
    let (tenant, task) = ("acme".parse().unwrap(), TaskId::from_bytes([7; 16]));
    let key = TaskKey::draw();
    let sealed_key = old.seal_task_key(&tenant, task, &key);
    for vault in [keyed(&[1, 2]), keyed(&[2, 1]), keyed(&[3, 2, 1])] {
        for stored in &hashes {
            assert!(vault.check(caller(), stored, &right).await.unwrap());
            assert!(vault.check(caller(), stored, &right).await.unwrap(), "also from the cache");
            assert!(!vault.check(caller(), stored, &password("wrong")).await.unwrap());
        }
        assert!(vault.is_hash_of_generated(&hashes[0], &right));
        assert_eq!(vault.unseal("a thing", &sealed).unwrap(), b"secret");
        assert_eq!(vault.unseal("another", &sealed), Err(BadSeal));
        let opened = vault.open_task_key(&tenant, task, &sealed_key).unwrap();
        assert_eq!(opened.password(0), key.password(0));
    }
    let without = keyed(&[2]);
    for stored in &hashes {
        assert!(matches!(
            without.check(caller(), stored, &right).await,
            Err(VaultError::UnknownKey)
        ));
    }
    assert_eq!(without.unseal("a thing", &sealed), Err(BadSeal));
}

#[tokio::test]
async fn new_hashes_and_seals_use_the_first_key() {
    let (vault, alone) = (keyed(&[2, 1]), keyed(&[2]));
    let right = password("x");
    let of_batch = vault.hash_batch(vec![(right.clone(), [7; 16])]).await.remove(0);
    let chosen = vault.hash_chosen(caller(), &right).await.unwrap();
    for stored in [vault.hash_generated(&right), chosen, of_batch] {
        assert!(alone.check(caller(), &stored, &right).await.unwrap(), "{}", stored.as_str());
        assert!(
            vault.renew(caller(), &stored, &right).await.unwrap().is_none(),
            "nothing to be done"
        );
    }
    let sealed = vault.seal("a thing", b"secret");
    assert_eq!(alone.unseal("a thing", &sealed).unwrap(), b"secret");
    assert!(sealed.starts_with(vault.seal_name()));
}

#[tokio::test]
async fn a_hash_is_renewed_under_the_first_key_with_its_salt() {
    let (old, both, new) = (keyed(&[1]), keyed(&[2, 1]), keyed(&[2]));
    let right = password("x");
    let fast = old.hash_generated(&right);
    let slow = old.hash_batch(vec![(right.clone(), [7; 16])]).await.remove(0);
    for stored in [&fast, &slow] {
        let renewed = both.renew(caller(), stored, &right).await.unwrap().unwrap();
        assert!(new.check(caller(), &renewed, &right).await.unwrap());
        assert!(!new.check(caller(), &renewed, &password("y")).await.unwrap());
    }
    let renewed = both.renew(caller(), &slow, &right).await.unwrap().unwrap();
    assert!(new.has_salt(&renewed, &[7; 16]), "a batch still knows it");
    assert!(both.successes.contains(&renewed, &right), "the next check is fast");
    assert!(matches!(new.renew(caller(), &fast, &right).await, Err(VaultError::UnknownKey)));
}

#[test]
fn a_seal_is_renewed_under_the_first_key() {
    let (old, both, new) = (keyed(&[1]), keyed(&[2, 1]), keyed(&[2]));
    let sealed = both.reseal("a thing", &old.seal("a thing", b"secret")).unwrap();
    assert_eq!(new.unseal("a thing", &sealed).unwrap(), b"secret");
    assert_eq!(both.reseal("another", &old.seal("a thing", b"secret")), Err(BadSeal));
    assert_eq!(new.reseal("a thing", &old.seal("a thing", b"secret")), Err(BadSeal));
    let (tenant, task) = ("acme".parse().unwrap(), TaskId::from_bytes([7; 16]));
    let key = TaskKey::draw();
    let sealed = old.seal_task_key(&tenant, task, &key);
    let sealed = both.reseal_task_key(&tenant, task, &sealed).unwrap();
    assert_eq!(new.open_task_key(&tenant, task, &sealed).unwrap().password(3), key.password(3));
}

#[test]
fn a_request_is_recognised_by_its_digest_under_any_key() {
    let tenant = "acme".parse().unwrap();
    let digests = |vault: Vault| vault.digest_request(&tenant, "create", b"{}");
    let (old, new) = (digests(keyed(&[1])), digests(keyed(&[2])));
    assert_eq!(digests(keyed(&[2, 1])), [new[0], old[0]]);
    assert_eq!(digests(keyed(&[1, 2])), [old[0], new[0]]);
}

#[tokio::test]
async fn the_start_of_a_hash_or_seal_names_its_key() {
    let masters = MasterKeys::parse(&"0a".repeat(32)).unwrap();
    let (fingerprint, vault) = (&masters.fingerprints()[0], vault());
    let right = password("x");
    let chosen = vault.hash_chosen(caller(), &right).await.unwrap();
    let again = vault.hash_chosen(caller(), &right).await.unwrap();
    assert_eq!(chosen.as_str()[..HASH_NAME_CHARS], again.as_str()[..HASH_NAME_CHARS]);
    for stored in [vault.hash_generated(&right), chosen] {
        let beginning = &stored.as_str()[..HASH_NAME_CHARS];
        assert_eq!(key_of_hash(beginning), Some(&fingerprint[..8]));
    }
    let sealed = vault.seal("a thing", b"secret");
    assert_eq!(&sealed[..SEAL_NAME_BYTES], vault.seal_name());
    assert_eq!(key_of_seal(&sealed[..SEAL_NAME_BYTES]), Some(&fingerprint[..8]));
    for bad in [&b""[..], b"\x01", b"\x021a2b3c4d", b"\x01\xff\xff\xff\xff\xff\xff\xff\xff"] {
        assert_eq!(key_of_seal(bad), None, "{bad:?}");
    }
    assert_eq!(key_of_hash("nonsense"), None);
}
