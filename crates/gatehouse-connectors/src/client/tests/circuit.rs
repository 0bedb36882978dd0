//! The circuit breaker, and which failures count against a platform.

use super::*;

/// Calls a failing platform until the circuit opens.
async fn open_circuit(client: &PlatformClient) {
    for _ in 0..breaker::FAILURES_TO_OPEN {
        assert_eq!(get(client, patient()).await.unwrap().status.as_u16(), 500);
    }
}

#[tokio::test]
async fn the_circuit_opens_for_a_failing_platform_and_probes_later() {
    let platform = Platform::new(|nth, _| reply(if nth < 6 { 500 } else { 200 }, "", "")).await;
    let client = client(&platform.url());
    open_circuit(&client).await;
    let failure = get(&client, patient()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Open);
    assert!(failure.detail.starts_with("the circuit is open for another "), "{failure:?}");
    assert!(failure.detail.ends_with("in a row, last because it answered 500"), "{failure:?}");
    assert!(failure.retry_after.unwrap() <= breaker::OPEN_TIME);
    assert_eq!(platform.n_requests(), 5);

    advance(breaker::OPEN_TIME).await;
    assert_eq!(get(&client, patient()).await.unwrap().status.as_u16(), 500);
    assert_eq!(get(&client, patient()).await.unwrap_err().kind, FailureKind::Open);
    advance(breaker::OPEN_TIME).await;
    assert_eq!(get(&client, patient()).await.unwrap().status.as_u16(), 200);
    assert_eq!(get(&client, patient()).await.unwrap().status.as_u16(), 200);
    assert_eq!(platform.n_requests(), 8);
}

#[tokio::test]
async fn client_errors_do_not_open_the_circuit() {
    for status in [400, 401, 404, 429] {
        let platform = Platform::new(move |_, _| reply(status, "", "")).await;
        let client = client(&platform.url());
        for _ in 0..2 * breaker::FAILURES_TO_OPEN {
            assert_eq!(client.send(patient(), post(false)).await.unwrap().status.as_u16(), status);
        }
    }
}

#[tokio::test]
async fn retries_stop_when_the_circuit_opens_and_the_last_response_is_returned() {
    let platform = Platform::new(|_, _| reply(503, "", "")).await;
    let mut client = client(&platform.url());
    let (registry, meter) = metered();
    client.meter = meter;
    for _ in 0..2 {
        assert_eq!(get(&client, patient()).await.unwrap().status.as_u16(), 503);
    }
    assert_eq!(platform.n_requests(), 5);
    assert_eq!(metric(&registry, "circuit", ""), 2);
    // No retry was waiting for the open circuit.
    assert_eq!(metric(&registry, "calls_total", "refused"), 0);
    assert_eq!(get(&client, patient()).await.unwrap_err().kind, FailureKind::Open);
    assert_eq!(metric(&registry, "calls_total", "refused"), 1);
}

#[tokio::test]
async fn retries_stop_with_the_budget_and_the_last_response_is_returned() {
    let platform = Platform::new(|_, _| reply(503, "", "")).await;
    let limits = PlatformLimits { calls_per_second: Some(0.01), burst: 2, ..UNLIMITED };
    let client = client_with(pool(), &platform.url(), limits);
    let response = get(&client, patient()).await.unwrap();
    assert_eq!((response.status.as_u16(), platform.n_requests()), (503, 2));
}

#[tokio::test]
async fn a_waiting_call_respects_a_pause_requested_meanwhile() {
    let allowed = Arc::new(Semaphore::new(0));
    let Reaction::Send(busy) = reply(429, "Retry-After: 3600\r\n", "") else { unreachable!() };
    let hold = Reaction::Hold(busy, Arc::clone(&allowed));
    let mut platform = Platform::new(move |_, _| hold.clone()).await;
    let limits = PlatformLimits { calls_at_once: 1, ..UNLIMITED };
    let client = client_with(pool(), &platform.url(), limits);
    let (mut first, mut second) =
        (Box::pin(get(&client, patient())), Box::pin(get(&client, patient())));
    tokio::select! {
        biased;
        _ = &mut first => panic!("the platform holds its answer"),
        _ = &mut second => panic!("there is one turn"),
        _ = platform.request() => allowed.add_permits(1),
    }
    let (first, second) = tokio::join!(first, second);
    assert_eq!(first.unwrap().status.as_u16(), 429);
    assert_eq!(second.unwrap_err().kind, FailureKind::Throttled);
    assert_eq!(platform.n_requests(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_circuit_opens_for_a_hanging_platform() {
    let platform = Platform::new(|_, _| Reaction::Hang(Vec::new())).await;
    let client = client(&platform.url());
    let context = || CallContext::until(Instant::now() + COUNTED_TIMEOUT_MIN);
    for _ in 0..breaker::FAILURES_TO_OPEN {
        assert_eq!(get(&client, context()).await.unwrap_err().kind, FailureKind::Timeout);
    }
    assert_eq!(get(&client, context()).await.unwrap_err().kind, FailureKind::Open);
}

#[tokio::test(start_paused = true)]
async fn a_call_dropped_at_its_deadline_counts_as_failed() {
    let platform = Platform::new(|_, _| Reaction::Hang(Vec::new())).await;
    let client = client(&platform.url());
    for _ in 0..breaker::FAILURES_TO_OPEN {
        let deadline = Instant::now() + COUNTED_TIMEOUT_MIN;
        let mut received_lines = Box::pin(get(&client, CallContext::until(deadline)));
        tokio::select! {
            biased;
            _ = &mut received_lines => panic!("the platform hangs"),
            () = std::future::ready(()) => {}
        }
        tokio::time::advance(COUNTED_TIMEOUT_MIN).await;
        drop(received_lines);
    }
    assert_eq!(get(&client, patient()).await.unwrap_err().kind, FailureKind::Open);
}

#[tokio::test(start_paused = true)]
async fn a_call_with_too_little_time_does_not_count_as_failed() {
    let platform = Platform::new(|_, _| Reaction::Hang(Vec::new())).await;
    let client = client(&platform.url());
    for _ in 0..2 * breaker::FAILURES_TO_OPEN {
        let failure =
            get(&client, CallContext::until(Instant::now() + COUNTED_TIMEOUT_MIN / 2)).await;
        assert_eq!(failure.unwrap_err().kind, FailureKind::Timeout);
    }
}

#[tokio::test(start_paused = true)]
async fn timeouts_shorter_than_the_usual_latency_do_not_count_as_failed() {
    let slow = Duration::from_millis(800);
    let platform = Platform::new(|_, _| Reaction::Hang(Vec::new())).await;
    let client = client(&platform.url());
    client.gate.lock().record_latency(slow);
    for _ in 0..2 * breaker::FAILURES_TO_OPEN {
        let failure = get(&client, CallContext::until(Instant::now() + slow)).await.unwrap_err();
        assert!(failure.is_ours && failure.kind == FailureKind::Timeout, "{failure:?}");
    }
    for _ in 0..breaker::FAILURES_TO_OPEN {
        let failure =
            get(&client, CallContext::until(Instant::now() + 2 * slow)).await.unwrap_err();
        assert!(!failure.is_ours, "{failure:?}");
    }
    assert_eq!(get(&client, patient()).await.unwrap_err().kind, FailureKind::Open);
}

#[tokio::test]
async fn after_the_deadline_no_call_is_made() {
    let platform = Platform::new(|_, _| reply(200, "", "")).await;
    let failure =
        get(&client(&platform.url()), CallContext::until(Instant::now())).await.unwrap_err();
    let expected = "the deadline passed before the platform could be called";
    assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::Timeout, expected));
    assert_eq!(platform.n_requests(), 0);
}

#[tokio::test]
async fn a_cancelled_probe_lets_the_next_call_probe() {
    let mut platform = Platform::new(|nth, _| match nth {
        0..5 => reply(500, "", ""),
        5 => Reaction::Hang(Vec::new()),
        _ => reply(200, "", ""),
    })
    .await;
    let client = client(&platform.url());
    open_circuit(&client).await;
    for _ in 0..breaker::FAILURES_TO_OPEN {
        platform.request().await;
    }
    advance(breaker::OPEN_TIME).await;

    let mut left = Box::pin(get(&client, patient()));
    tokio::select! {
        _ = &mut left => panic!("the platform hangs"),
        _ = platform.request() => {}
    }
    let failure = get(&client, patient()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Open);
    assert!(failure.detail.contains("probing the platform"), "{failure:?}");
    drop(left);
    assert_eq!(get(&client, patient()).await.unwrap().status, StatusCode::OK);
}
