//! How many calls are made, at once and over time.

use super::*;

#[tokio::test]
async fn no_more_calls_run_at_once_than_may() {
    let allowed = Arc::new(Semaphore::new(0));
    let Play::Send(answer) = reply(200, "", "") else { unreachable!() };
    let hold = Play::Hold(answer, Arc::clone(&allowed));
    let mut platform = Platform::new(move |_, _| hold.clone()).await;
    let limits = Limits { calls_at_once: 2, ..UNLIMITED };
    let mut line = line_with(outside(), &platform.url(), limits);
    let (registry, meter) = metered();
    line.meter = meter;
    let release = async {
        platform.request().await;
        platform.request().await;
        // Both places are taken, so this one only waits.
        let failure = get(&line, short()).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Timeout);
        assert!(failure.detail.ends_with("this call's turn: 2 may run at once"), "{failure:?}");
        assert_eq!(figure(&registry, "throttled_total", ""), 0, "nobody wanted it to wait");
        allowed.add_permits(6);
    };
    let calls = futures_util::future::join_all((0..6).map(|_| get(&line, patient())));
    let (answers, ()) = tokio::join!(calls, release);
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!((platform.n_requests(), platform.n_under_way_max()), (6, 2));
}

#[tokio::test]
async fn no_more_calls_of_all_accounts_run_at_once_than_may() {
    let allowed = Arc::new(Semaphore::new(0));
    let Play::Send(answer) = reply(200, "", "") else { unreachable!() };
    let hold = Play::Hold(answer, Arc::clone(&allowed));
    let mut busy = Platform::new(move |_, _| hold.clone()).await;
    let other = Platform::new(|_, _| reply(200, "", "")).await;
    let first = line_with(Outside::new(false, 2).unwrap(), &busy.url(), UNLIMITED);
    let mut second = line(&other.url());
    second.outside = Arc::clone(&first.outside);
    let release = async {
        busy.request().await;
        busy.request().await;
        for _ in 0..breaker::FAILURES_MAX {
            let ask = Ask::until(Instant::now() + Duration::from_millis(25));
            let failure = get(&second, ask).await.unwrap_err();
            assert_eq!(failure.kind, FailureKind::Timeout, "it says nothing about the platform");
            let words = "the server itself has too many calls under way";
            assert!(failure.detail.ends_with(words), "{failure:?}");
        }
        assert_eq!(other.n_requests(), 0);
        allowed.add_permits(6);
    };
    let calls = futures_util::future::join_all((0..6).map(|_| get(&first, patient())));
    let (answers, ()) = tokio::join!(calls, release);
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!((busy.n_requests(), busy.n_under_way_max()), (6, 2));
    assert_eq!(get(&second, patient()).await.unwrap().status, StatusCode::OK);
}

#[tokio::test]
async fn no_more_calls_are_made_over_time_than_may() {
    let platform = Platform::new(|_, _| reply(200, "", "")).await;
    let limits = Limits { calls_per_second: Some(0.01), burst: 2, ..UNLIMITED };
    let mut line = line_with(outside(), &platform.url(), limits);
    let (registry, meter) = metered();
    line.meter = meter;
    assert!(get(&line, patient()).await.is_ok() && get(&line, patient()).await.is_ok());
    let failure = get(&line, patient()).await.unwrap_err();
    let expected = "the account's own budget of 0.01 calls a second is spent";
    assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::Throttled, expected));
    assert_eq!(platform.n_requests(), 2);
    assert_eq!(figure(&registry, "throttled_total", ""), 1);

    pass(Duration::from_secs(100)).await;
    assert!(get(&line, patient()).await.is_ok());
}

#[tokio::test]
async fn calls_wait_for_their_turn_in_the_budget() {
    let platform = Platform::new(|_, _| reply(200, "", "")).await;
    let limits = Limits { calls_per_second: Some(100.0), burst: 1, ..UNLIMITED };
    let line = line_with(outside(), &platform.url(), limits);
    let calls = futures_util::future::join_all((0..6).map(|_| get(&line, patient())));
    assert!(calls.await.iter().all(Result::is_ok));
    assert_eq!(platform.n_requests(), 6);
}
