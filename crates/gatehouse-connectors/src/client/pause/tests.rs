use super::*;

use http::HeaderValue;

#[test]
fn pauses_are_random_and_their_maximum_doubles() {
    let jitter = Jitter::from_seed(7);
    for (retry, longest) in [(0, 100), (1, 200), (2, 400)] {
        let longest = Duration::from_millis(longest);
        let pauses: Vec<_> = (0..1000).map(|_| jitter.pause(retry)).collect();
        assert!(pauses.iter().all(|it| *it < longest), "{retry}");
        assert!(pauses.iter().any(|it| *it < longest / 10), "{retry}");
        assert!(pauses.iter().any(|it| *it > longest * 9 / 10), "{retry}");
    }
}

#[test]
fn the_same_seed_gives_the_same_pauses_and_clients_differ() {
    let pauses = |jitter: Jitter| [(); 4].map(|()| jitter.pause(0));
    assert_eq!(pauses(Jitter::from_seed(1)), pauses(Jitter::from_seed(1)));
    assert_ne!(pauses(Jitter::from_seed(1)), pauses(Jitter::from_seed(2)));
    assert_ne!(pauses(Jitter::new()), pauses(Jitter::new()));
}

#[test]
fn retry_after_gives_the_pause_in_seconds_or_by_date() {
    const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    #[rustfmt::skip]
    let cases = [
        ("7",                             None,             Some(7)),
        (" 0 ",                           None,             Some(0)),
        ("99999999999999999999999",       None,             Some(u64::MAX)),
        ("Sun, 06 Nov 1994 08:50:07 GMT", Some(DATE),       Some(30)),
        ("Sun, 06 Nov 1994 08:49:07 GMT", Some(DATE),       Some(0)),
        // By this machine's clock it is long past.
        ("Sun, 06 Nov 1994 08:50:07 GMT", None,             Some(0)),
        ("Sun, 06 Nov 1994 08:50:07 GMT", Some("yesterday"), Some(0)),
        ("-1",                            None,             None),
        ("1.5",                           None,             None),
        ("soon",                          Some(DATE),       None),
        ("",                              None,             None),
    ];
    for (text, date, expected) in cases {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, text.parse().unwrap());
        if let Some(date) = date {
            headers.insert(http::header::DATE, date.parse().unwrap());
        }
        assert_eq!(retry_after(&headers), expected.map(Duration::from_secs), "{text} {date:?}");
    }
    assert_eq!(retry_after(&HeaderMap::new()), None);
    let mut headers = HeaderMap::new();
    headers.insert(RETRY_AFTER, "Fri, 31 Dec 9999 23:59:59 GMT".parse().unwrap());
    assert!(retry_after(&headers).unwrap() > Duration::from_secs(3600));
}

#[test]
fn rate_limit_headers_give_the_pause() {
    const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    let (seconds, epoch) = (ResetUnit::Seconds, ResetUnit::Epoch);
    #[rustfmt::skip]
    let cases = [
        // status, remaining,  reset,         unit,    date,       expected
        (200, Some("0"),       "30",          seconds, None,       Some(30_000)),
        (200, Some(" -3 "),    "1.5",         seconds, None,       Some(1_500)),
        (200, Some("0.0"),     "0",           seconds, None,       Some(0)),
        (200, Some("1"),       "30",          seconds, None,       None),
        (200, Some("none"),    "30",          seconds, None,       None),
        (200, Some(""),        "30",          seconds, None,       None),
        (200, None,            "30",          seconds, None,       None),
        (429, None,            "30",          seconds, None,       Some(30_000)),
        (429, Some("7"),       "30",          seconds, None,       Some(30_000)),
        (503, Some("0"),       "30",          seconds, None,       Some(30_000)),
        (429, None,            "784111807",   epoch,   Some(DATE), Some(30_000)),
        (429, None,            "784111747",   epoch,   Some(DATE), Some(0)),
        // By this machine's clock it is long past.
        (429, None,            "784111807",   epoch,   None,       Some(0)),
        (429, None,            "-1",          seconds, None,       None),
        (429, None,            "soon",        seconds, None,       None),
        (429, None,            "inf",         seconds, None,       None),
        (429, None,            "1-2",         seconds, None,       None),
        (429, None,            "",            seconds, None,       None),
    ];
    let names = ["x-rate-limit-remaining", "x-rate-limit-reset"].map(HeaderName::from_static);
    let [remaining, reset] = names;
    for (status, left, until, unit, date, expected) in cases {
        let wait = WaitRule { remaining: Some(remaining.clone()), reset: reset.clone(), unit };
        let mut headers = HeaderMap::new();
        headers.insert(&reset, until.parse().unwrap());
        let given = [(&remaining, left), (&http::header::DATE, date)];
        for (name, value) in given.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            headers.insert(name, HeaderValue::from_static(value));
        }
        let status = StatusCode::from_u16(status).unwrap();
        let pause = reset_after(status, &headers, &wait);
        let expected = expected.map(Duration::from_millis);
        assert_eq!(pause, expected, "{status} {left:?} {until} {date:?}");
    }
    let wait = WaitRule { remaining: None, reset, unit: seconds };
    assert_eq!(reset_after(StatusCode::TOO_MANY_REQUESTS, &HeaderMap::new(), &wait), None);
    let mut headers = HeaderMap::new();
    headers.insert(&remaining, HeaderValue::from_static("0"));
    headers.insert(&wait.reset, "9".repeat(400).parse().unwrap());
    assert_eq!(
        reset_after(StatusCode::OK, &headers, &wait),
        None,
        "without a header for the remaining calls"
    );
    let endless = reset_after(StatusCode::TOO_MANY_REQUESTS, &headers, &wait);
    assert_eq!(endless, Some(Duration::MAX));
}
