use super::*;

const NAME: NameHash = [1, 2];

fn limiter(free: u32, share: ReplicaShare) -> GuessLimiter {
    let current = CurrentShare::default();
    current.set(share, Instant::now());
    GuessLimiter::new(free, current)
}

#[test]
fn the_wait_doubles_up_to_a_minute_after_the_free_failures() {
    let limiter = limiter(10, ReplicaShare::WHOLE);
    let mut now = Instant::now();
    for n in 0..10 {
        assert_eq!(limiter.count(SecretOwner::Access, NAME, now), Ok(()), "{n}");
    }
    for seconds in [1, 2, 4, 8, 16, 32, 60, 60, 60] {
        let wait = Duration::from_secs(seconds);
        assert_eq!(limiter.count(SecretOwner::Access, NAME, now), Err(wait));
        assert_eq!(
            limiter.count(SecretOwner::Access, NAME, now + wait / 2),
            Err(wait / 2),
            "a refused check doesn't extend the wait"
        );
        assert_eq!(limiter.count(SecretOwner::Access, [1, 3], now), Ok(()), "another name");
        limiter.forget(SecretOwner::Access, [1, 3]);
        now += wait;
        assert_eq!(limiter.count(SecretOwner::Access, NAME, now), Ok(()));
    }
    assert!(limiter.count(SecretOwner::Access, NAME, now + Duration::from_secs(59)).is_err());
    now += 10 * LONGEST_WAIT;
    let n_free = (0..20).filter(|_| limiter.count(SecretOwner::Access, NAME, now).is_ok()).count();
    assert_eq!(n_free, 10, "old failures expire");
}

#[test]
fn a_success_resets_the_count_and_an_unchecked_guess_does_not_count() {
    let limiter = limiter(2, ReplicaShare::WHOLE);
    let tenant: TenantName = "acme".parse().unwrap();
    let begin = || limiter.begin(SecretOwner::Access, &tenant, "pump");
    for _ in 0..50 {
        begin().unwrap().give_back();
    }
    drop((begin().unwrap(), begin().unwrap()));
    assert!(begin().is_err());
    assert!(limiter.begin(SecretOwner::Client, &tenant, "pump").is_ok());
    assert!(limiter.begin(SecretOwner::Access, &"rival".parse().unwrap(), "pump").is_ok());
    *limiter.lock(SecretOwner::Access) = NameCache::default();
    drop(begin().unwrap());
    begin().unwrap().succeed();
    assert!(begin().is_ok() && begin().is_ok());
}

#[test]
fn each_server_enforces_its_share() {
    let limiter = limiter(10, ReplicaShare::new(2, 3).unwrap());
    let now = Instant::now();
    let n_free = (0..20).filter(|_| limiter.count(SecretOwner::Access, NAME, now).is_ok()).count();
    assert_eq!(n_free, 3);
    assert_eq!(limiter.count(SecretOwner::Access, NAME, now), Err(Duration::from_secs(3)));
}

#[test]
fn without_a_limit_no_guess_is_counted() {
    let limiter = limiter(0, ReplicaShare::WHOLE);
    let tenant: TenantName = "acme".parse().unwrap();
    assert!((0..1000).all(|_| limiter.begin(SecretOwner::Access, &tenant, "pump").is_ok()));
    assert!(limiter.lock(SecretOwner::Access).is_empty());
}

#[test]
fn memory_does_not_grow_without_bound() {
    let limiter = limiter(1, ReplicaShare::WHOLE);
    let now = Instant::now();
    for n in 0..(3 * GENERATION as u64) {
        limiter.count(SecretOwner::Access, [n, n], now).unwrap();
    }
    assert!(limiter.lock(SecretOwner::Access).len() <= 2 * GENERATION);
}

#[test]
fn the_slowest_rate_holds_with_few_free_guesses_and_many_servers() {
    for (free, share) in [
        (1, ReplicaShare::WHOLE),
        (3, ReplicaShare::new(0, 4).unwrap()),
        (10, ReplicaShare::new(3, 40).unwrap()),
    ] {
        let limiter = limiter(free, share);
        let (begin, mut now) = (Instant::now(), Instant::now());
        let mut n_attempts = 0;
        while now < begin + Duration::from_secs(24 * 3600) {
            match limiter.count(SecretOwner::Access, NAME, now) {
                Ok(()) => n_attempts += 1,
                Err(wait) => now += wait,
            }
        }
        // One per minute and day over all servers, plus the free ones at the start.
        let most = 24 * 60 / share.of() + 20;
        assert!(n_attempts <= most, "{free} {share:?}: {n_attempts} > {most}");
    }
}
