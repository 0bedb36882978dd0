//! Concurrent calls, rate limits and quotas.

use super::*;

#[tokio::test]
async fn the_limit_on_concurrent_calls_of_an_account_holds() {
    let allowed = Arc::new(Semaphore::new(0));
    let Reaction::Send(response) = reply(200, "", "") else { unreachable!() };
    let hold = Reaction::Hold(response, Arc::clone(&allowed));
    let mut platform = Platform::new(move |_, _| hold.clone()).await;
    let limits = PlatformLimits { calls_at_once: 2, ..UNLIMITED };
    let mut client = client_with(pool(), &platform.url(), limits);
    let (registry, meter) = metered();
    client.meter = meter;
    let release = async {
        platform.request().await;
        platform.request().await;
        // Both permits are taken, so this call only waits.
        let failure = get(&client, short()).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Timeout);
        assert!(failure.detail.ends_with("could start: only 2 may run at once"), "{failure:?}");
        assert_eq!(metric(&registry, "throttled_total", ""), 0, "a full queue is no throttling");
        allowed.add_permits(6);
    };
    let calls = futures_util::future::join_all((0..6).map(|_| get(&client, patient())));
    let (responses, ()) = tokio::join!(calls, release);
    assert!(responses.iter().all(Result::is_ok));
    assert_eq!((platform.n_requests(), platform.n_under_way_max()), (6, 2));
}

#[tokio::test]
async fn the_limit_on_concurrent_calls_of_all_accounts_holds() {
    let allowed = Arc::new(Semaphore::new(0));
    let Reaction::Send(response) = reply(200, "", "") else { unreachable!() };
    let hold = Reaction::Hold(response, Arc::clone(&allowed));
    let mut busy = Platform::new(move |_, _| hold.clone()).await;
    let other = Platform::new(|_, _| reply(200, "", "")).await;
    let first = client_with(ClientPool::new(here(), 2).unwrap(), &busy.url(), UNLIMITED);
    let mut second = client(&other.url());
    second.pool = Arc::clone(&first.pool);
    let release = async {
        busy.request().await;
        busy.request().await;
        for _ in 0..breaker::FAILURES_TO_OPEN {
            let context = CallContext::until(Instant::now() + Duration::from_millis(25));
            let failure = get(&second, context).await.unwrap_err();
            assert_eq!(failure.kind, FailureKind::Timeout, "it says nothing about the platform");
            let message = "the server itself has too many calls under way";
            assert!(failure.detail.ends_with(message), "{failure:?}");
        }
        assert_eq!(other.n_requests(), 0);
        allowed.add_permits(6);
    };
    let calls = futures_util::future::join_all((0..6).map(|_| get(&first, patient())));
    let (responses, ()) = tokio::join!(calls, release);
    assert!(responses.iter().all(Result::is_ok));
    assert_eq!((busy.n_requests(), busy.n_under_way_max()), (6, 2));
    assert_eq!(get(&second, patient()).await.unwrap().status, StatusCode::OK);
}

#[tokio::test]
async fn the_rate_limit_holds() {
    let platform = Platform::new(|_, _| reply(200, "", "")).await;
    let limits = PlatformLimits { calls_per_second: Some(0.01), burst: 2, ..UNLIMITED };
    let mut client = client_with(pool(), &platform.url(), limits);
    let (registry, meter) = metered();
    client.meter = meter;
    assert!(get(&client, patient()).await.is_ok() && get(&client, patient()).await.is_ok());
    let failure = get(&client, patient()).await.unwrap_err();
    let expected = "the account's own budget of 0.01 calls a second is spent";
    assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::Throttled, expected));
    assert_eq!(platform.n_requests(), 2);
    assert_eq!(metric(&registry, "throttled_total", ""), 1);

    advance(Duration::from_secs(100)).await;
    assert!(get(&client, patient()).await.is_ok());
}

#[tokio::test]
async fn calls_wait_for_the_rate_limit() {
    let platform = Platform::new(|_, _| reply(200, "", "")).await;
    let limits = PlatformLimits { calls_per_second: Some(100.0), burst: 1, ..UNLIMITED };
    let client = client_with(pool(), &platform.url(), limits);
    let calls = futures_util::future::join_all((0..6).map(|_| get(&client, patient())));
    assert!(calls.await.iter().all(Result::is_ok));
    assert_eq!(platform.n_requests(), 6);
}

#[tokio::test]
async fn every_redirect_and_every_retry_counts_against_what_the_platform_allows() {
    let platform = Platform::new(|nth, _| match nth {
        0 => reply(302, "Location: /there\r\n", ""),
        1 => reply(503, "", ""),
        _ => reply(200, "", ""),
    })
    .await;
    let per = Duration::from_secs(600);
    let quota = Quota { calls: 3, per, of: vec![CallKind::List], scope: QuotaScope::Account };
    let limits = PlatformLimits { quotas: vec![quota], ..UNLIMITED };
    let mut client = client_with(pool(), &platform.url(), limits);
    let (registry, meter) = metered();
    client.meter = meter;
    assert_eq!(get(&client, patient()).await.unwrap().status.as_u16(), 200);
    let failure = get(&client, patient()).await.unwrap_err();
    let expected =
        "the budget of 3 calls (list) in 600 s that the platform gives the account is spent";
    assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::Throttled, expected));
    assert!(failure.retry_after.unwrap() > Duration::from_secs(500), "{failure:?}");
    assert_eq!(metric(&registry, "throttled_total", ""), 1);
    assert_eq!(platform.n_requests(), 3);
    assert!(client.send(patient(), post(false)).await.is_ok(), "a look-up is no list");

    advance(per).await;
    assert!(get(&client, patient()).await.is_ok());
}

#[tokio::test]
async fn accounts_of_a_connector_share_what_its_host_allows() {
    let platform = Platform::new(|_, _| reply(200, "", "")).await;
    let per = Duration::from_secs(600);
    let quota = Quota { calls: 1, per, of: Vec::new(), scope: QuotaScope::Host };
    let limits = PlatformLimits { quotas: vec![quota], ..UNLIMITED };
    let first = client_with(pool(), &platform.url(), limits.clone());
    let base = BaseUrl::parse(&format!("{}/v2", platform.url()), &plain()).unwrap();
    let other = |connector: &str| {
        let (pool, (_, meter)) = (Arc::clone(&first.pool), metered());
        let connector = connector.parse().unwrap();
        PlatformClient::new(pool, &connector, base.clone(), limits.clone(), meter, Vec::new())
    };
    assert!(get(&first, patient()).await.is_ok());
    let failure = get(&other("simulator"), patient()).await.unwrap_err();
    let expected =
        "the budget of 1 call in 600 s that the platform gives all accounts here is spent";
    assert_eq!(failure.detail, expected);
    assert!(get(&other("another"), patient()).await.is_ok());
}

#[tokio::test]
async fn a_call_without_a_permit_counts_against_no_quota() {
    let platform = Platform::new(|_, _| reply(200, "", "")).await;
    let per = Duration::from_secs(600);
    let quota = Quota { calls: 1, per, of: Vec::new(), scope: QuotaScope::Account };
    let limits = PlatformLimits { quotas: vec![quota], ..UNLIMITED };
    let client = client_with(ClientPool::new(here(), 1).unwrap(), &platform.url(), limits);
    let take_notes = client.pool.call_permit(patient(), client.meter.tenant()).await.unwrap();
    assert_eq!(get(&client, short()).await.unwrap_err().kind, FailureKind::Timeout);
    drop(take_notes);
    assert!(get(&client, patient()).await.is_ok());
}

#[tokio::test]
async fn each_server_has_its_share_of_a_rate() {
    let platform = Platform::new(|_, _| reply(200, "", "")).await;
    let limits = PlatformLimits { calls_per_second: Some(0.02), burst: 4, ..UNLIMITED };
    let client = client_with(pool(), &platform.url(), limits);
    client.pool.share().set(ReplicaShare::new(0, 2).unwrap(), Instant::now().into_std());
    assert!(get(&client, patient()).await.is_ok() && get(&client, patient()).await.is_ok());
    let failure = get(&client, patient()).await.unwrap_err();
    let expected = "the account's own budget of 0.02 calls a second is spent, as far as this server's share goes: \
                    one of 2";
    assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::Throttled, expected));

    advance(Duration::from_secs(100)).await;
    assert!(get(&client, patient()).await.is_ok());
    assert!(get(&client, patient()).await.is_err());
    assert_eq!(platform.n_requests(), 3);
}

/// A tenant with far more calls than the server allows doesn't delay another tenant's call.
#[tokio::test]
async fn calls_of_one_tenant_block_no_other_tenant() {
    let Reaction::Send(response) = reply(200, "", "") else { unreachable!() };
    let allowed = Arc::new(Semaphore::new(0));
    let hold = Reaction::Hold(response, Arc::clone(&allowed));
    let mut busy = Platform::new(move |_, _| hold.clone()).await;
    let mut own = Platform::new(|_, _| reply(200, "", "")).await;
    let limits = PlatformLimits { calls_at_once: 1000, ..UNLIMITED };
    let attacker = client_with(ClientPool::new(here(), 1).unwrap(), &busy.url(), limits);
    let mut other = client(&own.url());
    other.pool = Arc::clone(&attacker.pool);
    let account = Account { name: "own".parse().unwrap(), ..metered_account() };
    other.meter = PlatformMeter::new().account(&"rival".parse().unwrap(), &account);
    let attacks: Vec<_> = (0..50).map(|_| Box::pin(get(&attacker, patient()))).collect();
    let attack = futures_util::future::join_all(attacks);
    let watch = async {
        // One call is under way and the others wait; the other tenant's call is next.
        busy.request().await;
        let mut call = Box::pin(get(&other, patient()));
        assert!(futures_util::poll!(&mut call).is_pending());
        allowed.add_permits(2);
        assert_eq!(call.await.unwrap().status, 200);
        own.request().await;
        let n_waiting = attacker.pool.n_waiting();
        assert!(n_waiting > 40, "the others still wait: {n_waiting}");
        allowed.add_permits(1000);
    };
    let (responses, ()) = tokio::join!(attack, watch);
    assert!(responses.iter().all(Result::is_ok));
}
