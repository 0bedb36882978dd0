use super::*;
use proptest::prelude::*;

fn parse(text: &str) -> Result<Timestamp, BadTime> {
    text.parse()
}

#[test]
fn three_forms_are_parsed() {
    #[rustfmt::skip]
    let cases = [
        ("2026-11-01",                          "2026-11-01T00:00:00.000Z"),
        ("2026-11-01T12:30:00Z",                "2026-11-01T12:30:00.000Z"),
        ("2026-11-01t12:30:00z",                "2026-11-01T12:30:00.000Z"),
        ("2026-11-01 12:30:00Z",                "2026-11-01T12:30:00.000Z"),
        ("2026-11-01T12:30:00",                 "2026-11-01T12:30:00.000Z"),
        ("2026-11-01T12:30:00.5",               "2026-11-01T12:30:00.500Z"),
        ("2026-11-01T12:30:00.123999999+02:00", "2026-11-01T10:30:00.123Z"),
        ("2026-11-01T12:30:00-23:59",           "2026-11-02T12:29:00.000Z"),
        ("1969-12-31T23:59:59.9999Z",           "1969-12-31T23:59:59.999Z"),
        ("0000-01-01",                          "0000-01-01T00:00:00.000Z"),
        ("9999-12-30T22:00:00.999Z",            "9999-12-30T22:00:00.999Z"),
        ("9999-12-31",                          "9999-12-31T00:00:00.000Z"),
        ("9999-12-31T23:59:59.999999Z",         "9999-12-31T23:59:59.999Z"),
    ];
    for (text, shown) in cases {
        assert_eq!(parse(text).map(|it| it.to_string()).as_deref(), Ok(shown), "{text}");
    }
}

#[test]
fn no_other_form_is_parsed() {
    for text in [
        "",
        "now",
        "2026",
        "2026-11",
        "20261101",
        "2026-11-01T12:30Z",
        "2026-11-01T12:30:00.Z",
        "2026-13-01",
        "9999-12-32",
        "0000-01-01T00:00:00+05:00",
        "9999-12-31T23:59:59-01:00",
        "9999-12-31T24:00:01Z",
        "2026-02-30",
        "2026-11-01T25:00:00Z",
        "2026-11-01T12:30:00+0200",
        "2026-11-01T12:30:00+24:00",
        "2026-11-01T12:30:00+25:00",
        "2026-11-01T12:30:00-01:60",
        "2026-11-01T12:30:00Z[UTC]",
        "2026-11-01T12:30:00Z ",
        " 2026-11-01",
        "+2026-11-01",
        "2026-11-01T12:30:00+02:0x",
        "２026-11-01",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,40}|[0-9TtZz:+. -]{0,40}") {
        let _ = parse(&text);
    }

    #[test]
    fn a_shown_instant_parses_to_itself(
        ms in Timestamp::EARLIEST.as_millisecond()..=Timestamp::LATEST.as_millisecond(),
    ) {
        let instant = Timestamp::from_millisecond(ms).unwrap();
        prop_assert_eq!(parse(&instant.to_string()), Ok(instant));
    }
}

#[test]
fn the_calendar_ends_on_both_sides() {
    for end in [Timestamp::EARLIEST, Timestamp::LATEST] {
        assert_eq!(Timestamp::from_civil(end.civil()), end);
        assert_eq!(Timestamp::from_millisecond(end.as_millisecond()), Ok(end));
    }
    assert_eq!(Timestamp::EARLIEST.to_string(), "0000-01-01T00:00:00.000Z");
    assert_eq!(Timestamp::LATEST.to_string(), "9999-12-31T23:59:59.999Z");
    let (first, last) = (Timestamp::EARLIEST.as_millisecond(), Timestamp::LATEST.as_millisecond());
    assert_eq!(Timestamp::from_millisecond(first - 1), Err(TimeOutOfRange));
    assert_eq!(Timestamp::from_millisecond(last + 1), Err(TimeOutOfRange));
}

#[test]
fn days_are_those_of_utc() {
    for (text, date) in [
        ("2026-11-01T23:59:59.999Z", "2026-11-01"),
        ("2026-11-01T23:30:00-01:00", "2026-11-02"),
        ("1969-12-31T23:00:00Z", "1969-12-31"),
        ("0000-01-01", "0000-01-01"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31"),
    ] {
        let instant: Timestamp = text.parse().unwrap();
        assert_eq!(instant.date(), date, "{text}");
        assert_eq!(Timestamp::of_day(instant.day()).unwrap().date(), date, "{text}");
    }
    assert!(Timestamp::of_day(i64::MAX).is_err());
}

#[test]
fn addition_stays_within_the_calendar() {
    let instant: Timestamp = "2026-11-01T12:00:00Z".parse().unwrap();
    assert_eq!(instant.plus_milliseconds(1500).to_string(), "2026-11-01T12:00:01.500Z");
    assert_eq!(instant.plus_milliseconds(-1500).to_string(), "2026-11-01T11:59:58.500Z");
    assert_eq!(instant.plus_milliseconds(i64::MAX), Timestamp::LATEST);
    assert_eq!(instant.plus_milliseconds(i64::MIN), Timestamp::EARLIEST);
}
