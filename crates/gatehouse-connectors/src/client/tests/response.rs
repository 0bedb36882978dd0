//! Bodies of responses: formats and sizes.

use super::*;

#[tokio::test]
async fn what_is_not_json_is_told_with_what_came() {
    let gzip = "Content-Encoding: gzip\r\n";
    let page = "Content-Type: text/html; charset=utf-8\r\n";
    #[rustfmt::skip]
    let cases = [
        (page, "Please log in",          "a web page, where JSON was expected"),
        ("",   " <html>Please</html>",   "a web page, where JSON was expected"),
        ("",   "",                       "an empty body, where JSON was expected"),
        ("",   "[1, 2",                  "what is not JSON, at line 1, column 5"),
        ("",   "oops",                   "what is not JSON, at line 1, column 1"),
        (gzip, "\u{1f}",                 "a body that is packed with `gzip`, which was not asked for"),
        ("",   r#"["hunter22-hunter22"]"#,
         "JSON of another shape than expected, at line 1, column 20"),
    ];
    for (headers, body, expected) in cases {
        let platform = Platform::new(move |_, _| reply(200, headers, body)).await;
        let answer = get(&line(&platform.url()), patient()).await.unwrap();
        let failure = answer.json::<Vec<u64>>().unwrap_err();
        assert_eq!(failure.kind, FailureKind::Error);
        assert_eq!(failure.detail, format!("the platform answered 200 with {expected}"));
        assert_eq!(failure.said.unwrap().status, 200);
    }
    let platform = Platform::new(|_, _| reply(200, page, "[1, 2]")).await;
    let answer = get(&line(&platform.url()), patient()).await.unwrap();
    assert_eq!(answer.json::<Vec<u64>>(), Ok(vec![1, 2]), "whatever it is called");
}

#[tokio::test]
async fn an_answer_has_a_largest_size() {
    let announced =
        |n_bytes: usize| format!("HTTP/1.1 200 OK\r\nContent-Length: {n_bytes}\r\n\r\n");
    let chunked = |n_bytes: usize| {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        format!("{head}{n_bytes:x}\r\n{}\r\n0\r\n\r\n", " ".repeat(n_bytes))
    };
    let cases = [
        (announced(ANSWER_BYTES_MAX) + &" ".repeat(ANSWER_BYTES_MAX), true),
        // The announced length suffices: no body is sent.
        (announced(ANSWER_BYTES_MAX + 1), false),
        (chunked(ANSWER_BYTES_MAX), true),
        (chunked(ANSWER_BYTES_MAX + 1), false),
    ];
    for (bytes, is_taken) in cases {
        let platform = Platform::new(move |_, _| Play::Hang(bytes.clone().into_bytes())).await;
        match get(&line(&platform.url()), patient()).await {
            Ok(answer) => assert!(is_taken && answer.body.len() == ANSWER_BYTES_MAX),
            Err(failure) => {
                assert_eq!(failure.detail, "the platform answered with more than 16 MiB");
                assert!(!is_taken && failure.kind == FailureKind::Error);
            }
        }
        assert_eq!(platform.n_requests(), 1);
    }
}

#[tokio::test]
async fn few_large_answers_are_there_at_once() {
    let (large, small) = (" ".repeat(LARGE_BYTES + 1), " ".repeat(LARGE_BYTES));
    let mut platform = Platform::new(move |_, head| {
        reply(200, "", if head.starts_with("GET /small") { &small } else { &large })
    })
    .await;
    let limits =
        PlatformLimits { calls_at_once: 2 * LARGE_ANSWERS_OF_TENANT_MAX as u32, ..UNLIMITED };
    let line = line_with(outside(), &platform.url(), limits);
    let calls = (0..LARGE_ANSWERS_OF_TENANT_MAX).map(|_| get(&line, patient()));
    let answers = futures_util::future::join_all(calls).await;
    let mut answers: Vec<PlatformResponse> = answers.into_iter().map(Result::unwrap).collect();
    for _ in 0..LARGE_ANSWERS_OF_TENANT_MAX {
        platform.request().await;
    }
    // Every permit is taken; a small response needs none.
    let ask = CallContext::until(Instant::now());
    let failure = line.outside.place(ask, line.meter.tenant()).await.unwrap_err();
    let expected = "there was no time left to read a large answer: the server itself has too many of them \
                    under way";
    assert_eq!(failure, Failure::new(FailureKind::Timeout, expected));
    let answer = line.get(patient(), "/small", HeaderMap::new()).await.unwrap();
    assert_eq!(answer.body.len(), LARGE_BYTES);
    platform.request().await;

    // A clone shares the permit.
    let copy = answers[0].clone();
    answers.truncate(1);
    let places: Vec<_> =
        std::iter::repeat_with(|| line.outside.place(patient(), line.meter.tenant()))
            .take(LARGE_ANSWERS_OF_TENANT_MAX - 1)
            .collect();
    let places = futures_util::future::join_all(places).await;
    drop(answers);
    let mut last = Box::pin(get(&line, patient()));
    tokio::select! {
        biased;
        _ = &mut last => panic!("there is no place"),
        _ = platform.request() => {}
    }
    drop(copy);
    assert_eq!(last.await.unwrap().body.len(), LARGE_BYTES + 1);
    drop(places);
}

#[tokio::test]
async fn large_answers_without_a_place_say_nothing_about_the_platform() {
    let large = " ".repeat(LARGE_BYTES + 1);
    let platform = Platform::new(move |_, _| reply(200, "", &large)).await;
    let line = line(&platform.url());
    let taken = (0..LARGE_ANSWERS_OF_TENANT_MAX)
        .map(|_| line.outside.place(patient(), line.meter.tenant()));
    let taken = futures_util::future::join_all(taken).await;
    // Enough time for a response, so that a timeout would count against the platform.
    let ask = CallContext::until(Instant::now() + 2 * CHANCE_MIN);
    let calls = (0..breaker::FAILURES_MAX).map(|_| get(&line, ask));
    for result in futures_util::future::join_all(calls).await {
        assert_eq!(result.unwrap_err().kind, FailureKind::Timeout);
    }
    drop(taken);
    assert!(get(&line, patient()).await.is_ok());
}

#[tokio::test]
async fn a_failure_repeats_no_secret_of_an_answer() {
    let platform = Platform::new(|_, _| reply(400, "", "no such field: hunter22-hunter22")).await;
    let answer = get(&line(&platform.url()), patient()).await.unwrap();
    let said = std::str::from_utf8(&answer.body).unwrap();
    let failure = answer.failure(format!("the platform answered 400: {said}"));
    assert_eq!(failure.detail, "the platform answered 400: no such field: ***");
    let long = "x".repeat(2 * DETAIL_BYTES_MAX);
    assert_eq!(answer.failure(long).detail.len(), DETAIL_BYTES_MAX);
}
