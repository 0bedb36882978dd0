//! Bodies of responses: formats and sizes.

use super::*;

#[tokio::test]
async fn a_response_that_is_not_json_is_described() {
    let gzip = "Content-Encoding: gzip\r\n";
    let page = "Content-Type: text/html; charset=utf-8\r\n";
    #[rustfmt::skip]
    let cases = [
        (page, "Please log in",          "a web page, where JSON was expected"),
        ("",   " <html>Please</html>",   "a web page, where JSON was expected"),
        ("",   "",                       "an empty body, where JSON was expected"),
        ("",   "[1, 2",                  "what is not JSON, at line 1, column 5"),
        ("",   "oops",                   "what is not JSON, at line 1, column 1"),
        (gzip, "\u{1f}",                 "a body compressed with `gzip`, which was not requested"),
        ("",   r#"["hunter22-hunter22"]"#,
         "JSON of another shape than expected, at line 1, column 20"),
    ];
    for (headers, body, expected) in cases {
        let platform = Platform::new(move |_, _| reply(200, headers, body)).await;
        let response = get(&client(&platform.url()), patient()).await.unwrap();
        let failure = response.json::<Vec<u64>>().unwrap_err();
        assert_eq!(failure.kind, FailureKind::Error);
        assert_eq!(failure.detail, format!("the platform answered 200 with {expected}"));
        assert_eq!(failure.response.unwrap().status, 200);
    }
    let platform = Platform::new(|_, _| reply(200, page, "[1, 2]")).await;
    let response = get(&client(&platform.url()), patient()).await.unwrap();
    assert_eq!(response.json::<Vec<u64>>(), Ok(vec![1, 2]), "whatever it is called");
}

#[tokio::test]
async fn the_size_of_a_response_is_bounded() {
    let announced =
        |n_bytes: usize| format!("HTTP/1.1 200 OK\r\nContent-Length: {n_bytes}\r\n\r\n");
    let chunked = |n_bytes: usize| {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        format!("{head}{n_bytes:x}\r\n{}\r\n0\r\n\r\n", " ".repeat(n_bytes))
    };
    let cases = [
        (announced(RESPONSE_BYTES_MAX) + &" ".repeat(RESPONSE_BYTES_MAX), true),
        // The announced length suffices: no body is sent.
        (announced(RESPONSE_BYTES_MAX + 1), false),
        (chunked(RESPONSE_BYTES_MAX), true),
        (chunked(RESPONSE_BYTES_MAX + 1), false),
    ];
    for (bytes, is_taken) in cases {
        let platform = Platform::new(move |_, _| Reaction::Hang(bytes.clone().into_bytes())).await;
        match get(&client(&platform.url()), patient()).await {
            Ok(response) => assert!(is_taken && response.body.len() == RESPONSE_BYTES_MAX),
            Err(failure) => {
                assert_eq!(failure.detail, "the platform answered with more than 16 MiB");
                assert!(!is_taken && failure.kind == FailureKind::Error);
            }
        }
        assert_eq!(platform.n_requests(), 1);
    }
}

#[tokio::test]
async fn the_number_of_large_responses_is_bounded() {
    let (large, small) = (" ".repeat(LARGE_BYTES + 1), " ".repeat(LARGE_BYTES));
    let mut platform = Platform::new(move |_, head| {
        reply(200, "", if head.starts_with("GET /small") { &small } else { &large })
    })
    .await;
    let limits =
        PlatformLimits { calls_at_once: 2 * LARGE_RESPONSES_OF_TENANT_MAX as u32, ..UNLIMITED };
    let client = client_with(pool(), &platform.url(), limits);
    let calls = (0..LARGE_RESPONSES_OF_TENANT_MAX).map(|_| get(&client, patient()));
    let responses = futures_util::future::join_all(calls).await;
    let mut responses: Vec<PlatformResponse> = responses.into_iter().map(Result::unwrap).collect();
    for _ in 0..LARGE_RESPONSES_OF_TENANT_MAX {
        platform.request().await;
    }
    // Every permit is taken; a small response needs none.
    let context = CallContext::until(Instant::now());
    let failure =
        client.pool.large_response_permit(context, client.meter.tenant()).await.unwrap_err();
    let expected = "the deadline passed before a large response could be read: the server itself has too many of them \
                    under way";
    assert_eq!(failure, Failure::new(FailureKind::Timeout, expected));
    let response = client.get(patient(), "/small", HeaderMap::new()).await.unwrap();
    assert_eq!(response.body.len(), LARGE_BYTES);
    platform.request().await;

    // A clone shares the permit.
    let copy = responses[0].clone();
    responses.truncate(1);
    let permits: Vec<_> = std::iter::repeat_with(|| {
        client.pool.large_response_permit(patient(), client.meter.tenant())
    })
    .take(LARGE_RESPONSES_OF_TENANT_MAX - 1)
    .collect();
    let permits = futures_util::future::join_all(permits).await;
    drop(responses);
    let mut last = Box::pin(get(&client, patient()));
    tokio::select! {
        biased;
        _ = &mut last => panic!("there is no place"),
        _ = platform.request() => {}
    }
    drop(copy);
    assert_eq!(last.await.unwrap().body.len(), LARGE_BYTES + 1);
    drop(permits);
}

#[tokio::test]
async fn a_lack_of_large_response_permits_does_not_count_as_failed() {
    let large = " ".repeat(LARGE_BYTES + 1);
    let platform = Platform::new(move |_, _| reply(200, "", &large)).await;
    let client = client(&platform.url());
    let take_notes = (0..LARGE_RESPONSES_OF_TENANT_MAX)
        .map(|_| client.pool.large_response_permit(patient(), client.meter.tenant()));
    let take_notes = futures_util::future::join_all(take_notes).await;
    // Enough time for a response, so that a timeout would count against the platform.
    let context = CallContext::until(Instant::now() + 2 * COUNTED_TIMEOUT_MIN);
    let calls = (0..breaker::FAILURES_TO_OPEN).map(|_| get(&client, context));
    for result in futures_util::future::join_all(calls).await {
        assert_eq!(result.unwrap_err().kind, FailureKind::Timeout);
    }
    drop(take_notes);
    assert!(get(&client, patient()).await.is_ok());
}

#[tokio::test]
async fn a_failure_repeats_no_secret_of_a_response() {
    let platform = Platform::new(|_, _| reply(400, "", "no such field: hunter22-hunter22")).await;
    let response = get(&client(&platform.url()), patient()).await.unwrap();
    let text = std::str::from_utf8(&response.body).unwrap();
    let failure = response.failure(format!("the platform answered 400: {text}"));
    assert_eq!(failure.detail, "the platform answered 400: no such field: ***");
    let long = "x".repeat(2 * DETAIL_BYTES_MAX);
    assert_eq!(response.failure(long).detail.len(), DETAIL_BYTES_MAX);
}
