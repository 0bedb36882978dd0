use super::*;
use crate::config::Config;
use gatehouse_store::Store;
use gatehouse_vault::{MasterKey, Vault};

/// Keys in a file, and those who look for them there.
struct Case {
    _dir: tempfile::TempDir,
    place: TokenKeyStore,
    clock: Clock,
    built_in: BuiltInIssuer,
}

async fn case() -> Case {
    let dir = tempfile::tempdir().unwrap();
    let config = Config { data_dir: dir.path().to_owned(), ..Config::default() };
    let clock = Clock::by_hand(Timestamp::from_millisecond(1_800_000_000_000).unwrap());
    let store = Store::open_sqlite(&config.database_file(), clock.clone()).await.unwrap();
    let vault = Arc::new(Vault::new(&MasterKey::generate().into()));
    let place = TokenKeyStore::new(&config, &store, &vault);
    let keys = TokenKeys::generate();
    keys.save(&dir.path().join("token.key")).unwrap();
    let built_in = BuiltInIssuer::fixed(keys).found_in(place.clone(), clock.clone());
    Case { _dir: dir, place, clock, built_in }
}

impl Case {
    /// Somebody changes the key; what was signed before is trusted for so many seconds.
    async fn rotate(&self, seconds: i64) -> String {
        let now = self.clock.now();
        let until = now.plus_milliseconds(seconds * 1000);
        let keys = self.place.rotate(until, now).await.unwrap();
        keys.sign(&Claims::new())
    }

    /// Whether this comes to be while somebody keeps the keys fresh, within a minute.
    async fn within_a_minute(&self, is_so: impl Fn() -> bool) -> bool {
        let wait = async {
            while !is_so() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        };
        tokio::select! {
            () = self.built_in.keep_fresh() => false,
            came = tokio::time::timeout(Duration::from_secs(60), wait) => came.is_ok(),
        }
    }
}

// Time passes when nobody has anything to do, as fast as that.
#[tokio::test(start_paused = true)]
async fn a_new_key_is_noticed_within_a_minute() {
    let case = case().await;
    let before = case.built_in.signing().id();
    assert!(
        !case.within_a_minute(|| case.built_in.signing().id() != before).await,
        "nothing to notice"
    );
    let trusted = case.built_in.trusted();
    case.rotate(3600).await;
    assert!(case.within_a_minute(|| case.built_in.signing().id() != before).await);
    assert!(
        !Arc::ptr_eq(&trusted, &case.built_in.trusted()),
        "what is remembered is looked at again"
    );
    assert_eq!(case.built_in.trusted().n_keys(), 2);

    case.clock.set(case.clock.now().plus_milliseconds(3_600_000));
    assert!(
        case.within_a_minute(|| case.built_in.trusted().n_keys() == 1).await,
        "its time is over"
    );
    assert_eq!(case.built_in.jwks()["keys"].as_array().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_token_of_an_unknown_key_has_somebody_look_but_not_all_the_time() {
    let case = case().await;
    let before = case.built_in.signing().sign(&Claims::new());
    let token = case.rotate(3600).await;
    assert!(case.built_in.verify(&token).await.is_ok());
    assert!(case.built_in.verify(&before).await.is_ok());
    let next = case.rotate(3600).await;
    assert_eq!(case.built_in.verify(&next).await.unwrap_err(), AuthError::NotTrusted);
    tokio::time::advance(REQUESTED_INTERVAL).await;
    assert!(case.built_in.verify(&next).await.is_ok());
    let stranger = TokenKeys::generate().sign(&Claims::new());
    tokio::time::advance(REQUESTED_INTERVAL).await;
    assert_eq!(case.built_in.verify(&stranger).await.unwrap_err(), AuthError::NotTrusted);
}

#[tokio::test(start_paused = true)]
async fn keys_that_can_not_be_read_leave_those_that_were() {
    let case = case().await;
    let token = case.built_in.signing().sign(&Claims::new());
    std::fs::write(case._dir.path().join("token.key"), "nonsense").unwrap();
    assert!(!case.within_a_minute(|| case.built_in.trusted().verify(&token).is_err()).await);
}
