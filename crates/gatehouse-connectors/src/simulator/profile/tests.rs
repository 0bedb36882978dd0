use super::*;

#[test]
fn a_profile_written_as_json_can_be_read_again() {
    for fault in Misbehaviour::ALL {
        let profile = Profile {
            latency_ms: 1,
            latency_jitter_ms: 2,
            error_percent: 3,
            error_status: StatusCode::BAD_GATEWAY,
            throttle_per_second: 4,
            retry_after_seconds: 5,
            fault,
        };
        let shown = profile.to_json().to_string();
        assert_eq!(Profile::default().with_changes(shown.as_bytes()), Ok(profile), "{shown}");
    }
}

#[test]
fn fields_that_a_body_omits_stay() {
    let slow = Profile { latency_ms: 300, ..Profile::default() };
    let hanging = Profile { fault: Misbehaviour::Hang, ..slow };
    assert_eq!(slow.with_changes(br#"{"fault": "hang"}"#), Ok(hanging));
    assert_eq!(hanging.with_changes(b"{}"), Ok(hanging));
}

#[test]
fn each_field_has_its_bounds() {
    for (within, beyond, reason) in [
        (
            r#"{"latencyMs": 600000}"#,
            r#"{"latencyMs": 600001}"#,
            "latencyMs must be a whole number, 0 to 600000, not 600001",
        ),
        (
            r#"{"latencyJitterMs": 600000}"#,
            r#"{"latencyJitterMs": "1"}"#,
            "latencyJitterMs must be a whole number, 0 to 600000, not \"1\"",
        ),
        (
            r#"{"errorPercent": 100}"#,
            r#"{"errorPercent": 101}"#,
            "errorPercent must be a whole number, 0 to 100, not 101",
        ),
        (
            r#"{"errorPercent": 0}"#,
            r#"{"errorPercent": 0.5}"#,
            "errorPercent must be a whole number, 0 to 100, not 0.5",
        ),
        (
            r#"{"errorStatus": 400}"#,
            r#"{"errorStatus": 399}"#,
            "errorStatus must be a whole number, 400 to 599, not 399",
        ),
        (
            r#"{"errorStatus": 599}"#,
            r#"{"errorStatus": 600}"#,
            "errorStatus must be a whole number, 400 to 599, not 600",
        ),
        (
            r#"{"throttlePerSecond": 1000000}"#,
            r#"{"throttlePerSecond": 1000001}"#,
            "throttlePerSecond must be",
        ),
        (
            r#"{"retryAfterSeconds": 86400}"#,
            r#"{"retryAfterSeconds": -1}"#,
            "retryAfterSeconds must be a whole number, 0 to 86400, not -1",
        ),
        (
            r#"{"fault": "none"}"#,
            r#"{"fault": "Hang"}"#,
            "fault must be one of none, hang, reset, trickle, html, invalidJson, huge, wrongTypes, duplicates, tooMany, endlessCursor, redirect, unauthorized, throttled, not \"Hang\"",
        ),
        (
            "{}",
            r#"{"latency": 5}"#,
            "latency is not a field of a profile; it may have latencyMs, latencyJitterMs, errorPercent, errorStatus, throttlePerSecond, retryAfterSeconds, fault",
        ),
        ("{}", "[]", "the body must be an object of JSON"),
        ("{}", "", "the body must be an object of JSON"),
    ] {
        assert!(Profile::default().with_changes(within.as_bytes()).is_ok(), "{within}");
        let faults = Profile::default().with_changes(beyond.as_bytes()).unwrap_err();
        assert!(faults[0].starts_with(reason), "{beyond}: {faults:?}");
    }
}

#[test]
fn all_faults_are_reported_at_once() {
    let body = br#"{"latencyMs": -1, "fault": 3, "errorPercent": 5, "x": null}"#;
    let faults = Profile::default().with_changes(body).unwrap_err();
    assert_eq!(faults.len(), 3, "{faults:?}");
}

#[test]
fn the_configured_percentage_fails_and_the_same_requests_again() {
    let failing = |percent, seed| {
        let profile = Profile { error_percent: percent, ..Profile::default() };
        (0..10_000).filter(|n| profile.fails(seed, *n)).collect::<Vec<u64>>()
    };
    assert_eq!(failing(0, 1).len(), 0);
    assert_eq!(failing(100, 1).len(), 10_000);
    assert!((1800..2200).contains(&failing(20, 1).len()), "{}", failing(20, 1).len());
    assert_eq!(failing(20, 1), failing(20, 1));
    assert_ne!(failing(20, 1), failing(20, 2));
}

#[test]
fn latency_takes_every_value_within_its_bounds() {
    let profile = Profile { latency_ms: 10, latency_jitter_ms: 3, ..Profile::default() };
    let mut seen: Vec<u128> = (0..1000).map(|n| profile.latency(1, n).as_millis()).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [10, 11, 12, 13]);
}
