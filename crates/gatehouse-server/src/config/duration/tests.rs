use super::*;

#[test]
fn a_duration_is_shown_as_it_was_written() {
    for (text, milliseconds) in [
        ("0s", 0),
        ("500ms", 500),
        ("10s", 10_000),
        ("60s", 60_000),
        ("15m", 900_000),
        ("24h", 86_400_000),
        ("30d", 2_592_000_000),
        ("36500d", MILLISECONDS_MAX),
    ] {
        let duration: Duration = text.parse().unwrap();
        assert_eq!(duration.get().as_millis(), u128::from(milliseconds), "{text}");
        assert_eq!(duration.to_string(), text);
    }
}

#[test]
fn an_invalid_duration_explains_the_format() {
    for text in
        ["", "10", "s", "ten s", "10 s", "10S", "10sec", "1.5s", "-1s", "+1s", "1h30m", "36501d"]
    {
        let error = text.parse::<Duration>().unwrap_err().to_string();
        assert!(
            error.contains("such as `10s`") && error.ends_with(&format!("`{text}`")),
            "{error}"
        );
    }
    let too_many = format!("{}d", u64::MAX);
    assert!(too_many.parse::<Duration>().is_err());
}
