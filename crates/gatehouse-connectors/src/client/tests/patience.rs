//! Deadlines, retries and pauses.

use super::*;

#[tokio::test]
async fn a_hanging_platform_is_a_timeout_at_the_deadline() {
    let platform = Platform::new(|_, _| Reaction::Hang(Vec::new())).await;
    let failure = get(&client(&platform.url()), short()).await.unwrap_err();
    let expected = (FailureKind::Timeout, "the platform did not answer in time");
    assert_eq!((failure.kind, failure.detail.as_str()), expected);
}

#[tokio::test]
async fn a_trickling_response_is_a_timeout_at_the_deadline() {
    let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let platform = Platform::new(|_, _| Reaction::Trickle(head.to_vec())).await;
    let failure = get(&client(&platform.url()), short()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Timeout, "{failure:?}");
    assert!(failure.detail.contains("in time"), "{failure:?}");
}

#[tokio::test]
async fn a_stalled_response_is_a_timeout_that_reports_the_bytes_read() {
    // More than all socket buffers hold, so that a part was surely read.
    let mut bytes = format!("HTTP/1.1 200 OK\r\nContent-Length: {RESPONSE_BYTES_MAX}\r\n\r\n");
    bytes.extend(std::iter::repeat_n(' ', RESPONSE_BYTES_MAX - (1 << 20)));
    let platform = Platform::new(move |_, _| Reaction::Hang(bytes.clone().into_bytes())).await;
    let client = client(&platform.url());
    let context = patient();
    let wait = async {
        platform.sent().await;
        advance(Duration::from_secs(60)).await;
    };
    let (result, ()) = tokio::join!(get(&client, context), wait);
    let failure = result.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Timeout);
    assert!(
        failure.detail.starts_with("the platform did not finish its answer in time: "),
        "{failure:?}"
    );
}

#[tokio::test]
async fn a_response_that_breaks_off_is_retried() {
    let broken = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc";
    for play in [
        Reaction::Reset(broken.to_vec()),
        Reaction::Send(broken.to_vec()),
        Reaction::Reset(Vec::new()),
    ] {
        let platform = Platform::new(move |nth, _| match nth {
            0 => play.clone(),
            _ => reply(200, "", "whole"),
        })
        .await;
        let response = get(&client(&platform.url()), patient()).await.unwrap();
        assert_eq!((&response.body[..], platform.n_requests()), (&b"whole"[..], 2));
    }
}

#[tokio::test]
async fn a_response_that_always_breaks_off_is_a_failure() {
    let broken = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc";
    let platform = Platform::new(|_, _| Reaction::Reset(broken.to_vec())).await;
    let failure = get(&client(&platform.url()), patient()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Error);
    assert!(failure.detail.starts_with("the platform's answer is broken: "), "{failure:?}");
    assert_eq!(platform.n_requests(), 3);
}

#[tokio::test]
async fn an_unreachable_platform_is_reported_in_plain_words() {
    // The port is bound, but nothing listens on it.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let client = client(&format!("http://{}", socket.local_addr().unwrap()));
    let failure = get(&client, patient()).await.unwrap_err();
    let expected = "the platform can't be reached: the connection was refused";
    assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::Error, expected));
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_reported_in_plain_words() {
    let cases: [(&str, HostLookUp, &str); 3] = [
        (
            "platform.example",
            |_| Box::pin(async { Err(std::io::Error::other("no such name")) }),
            "its name can't be resolved",
        ),
        (
            "platform.example",
            |_| Box::pin(async { Ok(vec![[127, 0, 0, 1].into()]) }),
            "its name leads to this machine, which is not called",
        ),
        (
            "platform.example",
            |_| Box::pin(async { Ok(vec![[169, 254, 169, 254].into(), [0, 0, 0, 0].into()]) }),
            "its name leads to a cloud's metadata, which is not called",
        ),
    ];
    for (host, context, message) in cases {
        let rules = AddressRules { allow_insecure_urls: true, ..AddressRules::default() };
        let pool = ClientPool::build(rules, CALLS_AT_ONCE, context, |it| it.no_proxy()).unwrap();
        let client = client_with(pool, &format!("http://{host}"), UNLIMITED);
        let failure = get(&client, patient()).await.unwrap_err();
        assert_eq!(failure.detail, format!("the platform can't be reached: {message}"));
        assert_eq!(failure.kind, FailureKind::Error);
    }
}

#[tokio::test(start_paused = true)]
async fn shortages_of_this_machine_are_not_the_platforms_fault() {
    let lacking: [HostLookUp; 4] = [
        |_| Box::pin(async { Err(Errno::MFILE.into()) }),
        |_| Box::pin(async { Err(Errno::NFILE.into()) }),
        |_| Box::pin(async { Err(Errno::NOMEM.into()) }),
        |_| Box::pin(async { Err(Errno::ADDRNOTAVAIL.into()) }),
    ];
    for context in lacking {
        let pool = ClientPool::build(plain(), 1, context, |it| it.no_proxy()).unwrap();
        let client = client_with(pool, "http://platform.example", UNLIMITED);
        for _ in 0..2 * breaker::FAILURES_TO_OPEN {
            let failure = get(&client, patient()).await.unwrap_err();
            let expected = "the server could not open a connection just now";
            assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::Error, expected));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn shortages_of_this_machine_are_logged_at_intervals() {
    let (captured_log, log) = captured_log();
    let _log = tracing::subscriber::set_default(log);
    let pool = pool();
    let n_warnings = || captured_log.lines().len();
    pool.warn_of_shortage("Too many open files");
    pool.warn_of_shortage("Too many open files");
    assert_eq!(n_warnings(), 1, "{:?}", captured_log.lines());
    tokio::time::advance(Duration::from_secs(60)).await;
    pool.warn_of_shortage("Too many open files");
    assert_eq!(n_warnings(), 2);
    assert!(captured_log.lines()[0].contains("WARN"), "{:?}", captured_log.lines());
    assert!(
        captured_log.lines()[0].contains("lack=\"Too many open files\""),
        "{:?}",
        captured_log.lines()
    );
}

#[tokio::test]
async fn a_missing_local_address_is_not_the_platforms_fault() {
    let platform = Platform::new(|_, _| reply(200, "", "")).await;
    // An address for documentation, which no machine has.
    let from = Some([192, 0, 2, 7].into());
    let pool = ClientPool::build(plain(), 1, system_look_up, |it| it.local_address(from));
    let client = client_with(pool.unwrap(), &platform.url(), UNLIMITED);
    let failure = get(&client, patient()).await.unwrap_err();
    assert_eq!(failure.detail, "the server could not open a connection just now");
}

#[tokio::test]
async fn transient_statuses_are_retried_and_permanent_ones_are_not() {
    for (status, n_requests) in [(502, 3), (503, 3), (504, 3), (429, 3), (500, 1), (404, 1)] {
        let platform = Platform::new(move |_, _| reply(status, "", "")).await;
        let response = get(&client(&platform.url()), patient()).await.unwrap();
        assert_eq!((response.status.as_u16(), platform.n_requests()), (status, n_requests));
    }
    let platform = Platform::new(|nth, _| reply(if nth < 2 { 503 } else { 200 }, "", "")).await;
    let response = get(&client(&platform.url()), patient()).await.unwrap();
    assert_eq!((response.status.as_u16(), platform.n_requests()), (200, 3));
}

#[tokio::test]
async fn only_repeatable_requests_are_retried() {
    for (is_repeatable, n_requests) in [(false, 1), (true, 3)] {
        let platform = Platform::new(|_, _| reply(503, "", "")).await;
        let response = client(&platform.url()).send(patient(), post(is_repeatable)).await.unwrap();
        assert_eq!((response.status.as_u16(), platform.n_requests()), (503, n_requests));
    }
}

#[tokio::test]
async fn persistent_429_responses_are_throttling() {
    let platform = Platform::new(|_, _| reply(429, "", "slow down")).await;
    let response = get(&client(&platform.url()), patient()).await.unwrap();
    let failure = response.failure("too much");
    assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::Throttled, "too much"));
    assert_eq!(
        failure.response.as_deref(),
        Some(&UnexpectedResponse {
            status: 429,
            code: None,
            message: None,
            body: "slow down".into()
        })
    );
}

#[tokio::test]
async fn a_retry_follows_the_requested_pause() {
    let platform = Platform::new(|nth, _| match nth {
        0 => reply(429, "Retry-After: 1\r\n", ""),
        _ => reply(200, "", ""),
    })
    .await;
    let response = get(&client(&platform.url()), patient()).await.unwrap();
    assert_eq!((response.status.as_u16(), platform.n_requests()), (200, 2));
}

#[tokio::test]
async fn a_pause_beyond_the_deadline_fails_this_call_and_later_ones() {
    let platform = Platform::new(|nth, _| match nth {
        0 => reply(429, "Retry-After: 3600\r\n", ""),
        _ => reply(200, "", ""),
    })
    .await;
    let client = client(&platform.url());
    let first = get(&client, patient()).await.unwrap().failure("too much");
    assert_eq!(first.retry_after, Some(Duration::from_secs(3600)));
    let second = get(&client, patient()).await.unwrap_err();
    assert_eq!(second.kind, FailureKind::Throttled);
    assert!(second.detail.starts_with("the platform asks for a pause of another "));
    assert!(second.retry_after.unwrap() <= PAUSE_MAX, "{second:?}");
    assert_eq!(platform.n_requests(), 1);

    advance(PAUSE_MAX).await;
    assert_eq!(get(&client, patient()).await.unwrap().status, StatusCode::OK);
}

/// A client of a platform with its own rate-limit headers.
fn client_that_pauses(url: &str) -> PlatformClient {
    let wait = WaitRule {
        remaining: Some("X-Left".parse().unwrap()),
        reset: "X-Reset".parse().unwrap(),
        unit: ResetUnit::Seconds,
    };
    client_with(pool(), url, PlatformLimits { wait: Some(wait), ..UNLIMITED })
}

#[tokio::test]
async fn a_platform_without_remaining_calls_is_not_called_until_the_reset() {
    let platform = Platform::new(|nth, _| match nth {
        0 => reply(200, "X-Left: 1\r\nX-Reset: 30\r\n", ""),
        1 => reply(200, "X-Left: 0\r\nX-Reset: 30\r\n", "last"),
        _ => reply(200, "X-Left: 9\r\nX-Reset: 30\r\n", ""),
    })
    .await;
    let client = client_that_pauses(&platform.url());
    assert!(get(&client, patient()).await.is_ok());
    assert_eq!(&get(&client, patient()).await.unwrap().body[..], b"last");
    let failure = get(&client, patient()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Throttled);
    assert!(failure.retry_after.unwrap() <= Duration::from_secs(30), "{failure:?}");
    assert_eq!(platform.n_requests(), 2);

    advance(Duration::from_secs(30)).await;
    assert!(get(&client, patient()).await.is_ok());
}

#[tokio::test]
async fn a_retry_follows_the_platforms_own_header() {
    let platform = Platform::new(|nth, _| match nth {
        0 => reply(429, "X-Reset: 3600\r\n", ""),
        1 => reply(429, "X-Reset: 3600\r\nRetry-After: 7200\r\n", ""),
        _ => reply(200, "", ""),
    })
    .await;
    let client = client_that_pauses(&platform.url());
    for seconds in [3600, 7200] {
        let failure = get(&client, patient()).await.unwrap().failure("too much");
        assert_eq!(failure.retry_after, Some(Duration::from_secs(seconds)));
        assert_eq!(get(&client, patient()).await.unwrap_err().kind, FailureKind::Throttled);
        advance(PAUSE_MAX).await;
    }
    assert_eq!(get(&client, patient()).await.unwrap().status, StatusCode::OK);
    assert_eq!(platform.n_requests(), 3);
}

#[tokio::test]
async fn a_short_requested_pause_is_waited_for() {
    let platform = Platform::new(|nth, _| match nth {
        0 => reply(200, "X-Left: 0\r\nX-Reset: 1\r\n", ""),
        _ => reply(200, "", "then"),
    })
    .await;
    let client = client_that_pauses(&platform.url());
    assert!(get(&client, patient()).await.is_ok());
    let mut waiting = Box::pin(get(&client, patient()));
    assert!(futures_util::poll!(&mut waiting).is_pending());
    assert_eq!(platform.n_requests(), 1);
    advance(Duration::from_secs(1)).await;
    assert_eq!(&waiting.await.unwrap().body[..], b"then");
}
