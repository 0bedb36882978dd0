use super::*;
use crate::config::Config;
use gatehouse_store::Store;
use gatehouse_vault::{MasterKey, Vault};

/// Keys in a file, and an issuer that reloads them.
struct Case {
    _dir: tempfile::TempDir,
    store: TokenKeyStore,
    clock: Clock,
    built_in: BuiltInIssuer,
}

async fn case() -> Case {
    let dir = tempfile::tempdir().unwrap();
    let config = Config { data_dir: dir.path().to_owned(), ..Config::default() };
    let clock = Clock::by_hand(Timestamp::from_millisecond(1_800_000_000_000).unwrap());
    let database = Store::open_sqlite(&config.database_file(), clock.clone()).await.unwrap();
    let vault = Arc::new(Vault::new(&MasterKey::generate().into()));
    let store = TokenKeyStore::new(&config, &database, &vault);
    let keys = TokenKeys::generate();
    keys.save(&dir.path().join("token.key")).unwrap();
    let built_in = BuiltInIssuer::fixed(keys).with_reload(store.clone(), clock.clone());
    Case { _dir: dir, store, clock, built_in }
}

impl Case {
    /// Rotates the key; the former one stays trusted for `seconds`.
    async fn rotate(&self, seconds: i64) -> String {
        let now = self.clock.now();
        let until = now.plus_milliseconds(seconds * 1000);
        let keys = self.store.rotate(until, now).await.unwrap();
        keys.sign(&Claims::new())
    }

    /// Whether the condition holds within a minute of periodic reloads.
    async fn within_a_minute(&self, condition: impl Fn() -> bool) -> bool {
        let wait = async {
            while !condition() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        };
        tokio::select! {
            () = self.built_in.keep_fresh() => false,
            came = tokio::time::timeout(Duration::from_secs(60), wait) => came.is_ok(),
        }
    }
}

// The paused clock advances when all tasks are idle.
#[tokio::test(start_paused = true)]
async fn a_rotated_key_is_loaded_within_a_minute() {
    let case = case().await;
    let before = case.built_in.signing().id();
    assert!(!case.within_a_minute(|| case.built_in.signing().id() != before).await, "no change");
    let trusted = case.built_in.trusted();
    case.rotate(3600).await;
    assert!(case.within_a_minute(|| case.built_in.signing().id() != before).await);
    assert!(!Arc::ptr_eq(&trusted, &case.built_in.trusted()), "cached tokens are checked again");
    assert_eq!(case.built_in.trusted().n_keys(), 2);

    case.clock.set(case.clock.now().plus_milliseconds(3_600_000));
    assert!(case.within_a_minute(|| case.built_in.trusted().n_keys() == 1).await, "it has expired");
    assert_eq!(case.built_in.jwks()["keys"].as_array().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_token_with_an_unknown_key_triggers_a_rate_limited_reload() {
    let case = case().await;
    let before = case.built_in.signing().sign(&Claims::new());
    let token = case.rotate(3600).await;
    assert!(case.built_in.verify(&token).await.is_ok());
    assert!(case.built_in.verify(&before).await.is_ok());
    let next = case.rotate(3600).await;
    assert_eq!(case.built_in.verify(&next).await.unwrap_err(), AuthError::NotTrusted);
    tokio::time::advance(TOKEN_RELOAD_INTERVAL).await;
    assert!(case.built_in.verify(&next).await.is_ok());
    let unknown = TokenKeys::generate().sign(&Claims::new());
    tokio::time::advance(TOKEN_RELOAD_INTERVAL).await;
    assert_eq!(case.built_in.verify(&unknown).await.unwrap_err(), AuthError::NotTrusted);
}

#[tokio::test(start_paused = true)]
async fn unreadable_keys_leave_the_present_ones_in_place() {
    let case = case().await;
    let token = case.built_in.signing().sign(&Claims::new());
    std::fs::write(case._dir.path().join("token.key"), "nonsense").unwrap();
    assert!(!case.within_a_minute(|| case.built_in.trusted().verify(&token).is_err()).await);
}
