use super::*;

#[test]
fn pauses_are_anything_up_to_twice_the_last() {
    let jitter = Jitter::of_seed(7);
    for (retry, longest) in [(0, 100), (1, 200), (2, 400)] {
        let longest = Duration::from_millis(longest);
        let pauses: Vec<_> = (0..1000).map(|_| jitter.pause(retry)).collect();
        assert!(pauses.iter().all(|it| *it < longest), "{retry}");
        assert!(pauses.iter().any(|it| *it < longest / 10), "{retry}");
        assert!(pauses.iter().any(|it| *it > longest * 9 / 10), "{retry}");
    }
}

#[test]
fn the_same_seed_gives_the_same_pauses_and_lines_have_different_ones() {
    let pauses = |jitter: Jitter| [(); 4].map(|()| jitter.pause(0));
    assert_eq!(pauses(Jitter::of_seed(1)), pauses(Jitter::of_seed(1)));
    assert_ne!(pauses(Jitter::of_seed(1)), pauses(Jitter::of_seed(2)));
    assert_ne!(pauses(Jitter::new()), pauses(Jitter::new()));
}

#[test]
fn a_platform_says_in_seconds_or_with_a_date_how_long_it_wants_to_be_left_alone() {
    const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    #[rustfmt::skip]
    let cases = [
        ("7",                             None,             Some(7)),
        (" 0 ",                           None,             Some(0)),
        ("99999999999999999999999",       None,             Some(u64::MAX)),
        ("Sun, 06 Nov 1994 08:50:07 GMT", Some(DATE),       Some(30)),
        ("Sun, 06 Nov 1994 08:49:07 GMT", Some(DATE),       Some(0)),
        // By our own clock it is long past.
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
