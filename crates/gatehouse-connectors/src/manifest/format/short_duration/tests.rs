use super::*;
use crate::manifest::tests::{parse_error, read};

#[test]
fn durations_are_parsed() {
    #[rustfmt::skip]
    let cases = [
        ("0s", 0), ("90s", 90), ("15m", 900), ("4h", 14_400), ("365d", 31_536_000),
        ("007s", 7), ("36525d", 3_155_760_000), ("3155760000s", 3_155_760_000),
    ];
    for (text, seconds) in cases {
        assert_eq!(read::<ShortDuration>(text).0.as_secs(), seconds, "{text}");
    }
}

#[test]
fn an_invalid_duration_is_rejected() {
    #[rustfmt::skip]
    let cases = [
        "", "s", "5", "5w", "5 s", "+5s", "-5s", "1.5h", "5S", "5µ", "36526d", "3155760001s",
        "18446744073709551616s", "18446744073709551615d",
    ];
    for text in cases {
        assert_eq!(
            parse_error::<ShortDuration>(&format!("'{text}'")).split(" at line").next(),
            Some(&*format!(
                "must be a whole number and s, m, h or d, such as `90s` or `365d`, not `{text}`"
            ))
        );
    }
}
