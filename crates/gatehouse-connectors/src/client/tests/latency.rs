//! Which calls count in a platform's latency.

use super::*;

#[tokio::test]
async fn only_successful_calls_count_in_the_latency() {
    for (status, counts) in
        [(200, true), (404, true), (401, false), (400, false), (429, false), (500, false)]
    {
        let platform = Platform::new(move |_, _| reply(status, "", "")).await;
        let client = client(&platform.url());
        assert_eq!(client.meter.latency().median(), None, "it was not asked yet");
        client.send(patient(), post(false)).await.unwrap();
        assert_eq!(client.meter.latency().median().is_some(), counts, "{status}");
    }
    // The port is bound, but nothing listens on it.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let unreachable = client(&format!("http://{}", socket.local_addr().unwrap()));
    unreachable.send(patient(), post(false)).await.unwrap_err();
    assert_eq!(unreachable.meter.latency().median(), None);
}

#[tokio::test(start_paused = true)]
async fn timeouts_count_in_the_latency() {
    let platform = Platform::new(|_, _| Reaction::Hang(Vec::new())).await;
    let client = client(&platform.url());
    let latency = client.meter.latency();
    let fast = Duration::from_millis(5);
    for _ in 0..2 * breaker::FAILURES_TO_OPEN {
        latency.record(fast);
        get(&client, CallContext::until(Instant::now() + COUNTED_TIMEOUT_MIN / 2))
            .await
            .unwrap_err();
    }
    assert_eq!(latency.median(), Some(fast), "it had no chance");

    for _ in 0..breaker::FAILURES_TO_OPEN {
        let context = CallContext::until(Instant::now() + COUNTED_TIMEOUT_MIN);
        assert_eq!(get(&client, context).await.unwrap_err().kind, FailureKind::Timeout);
    }
    assert!(latency.median() >= Some(COUNTED_TIMEOUT_MIN), "when it is left alone, one sees why");
}
