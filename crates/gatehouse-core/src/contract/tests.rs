use super::*;

fn validity(text: &str) -> Result<Validity, BadValidity> {
    text.parse()
}

#[test]
fn a_validity_is_added_by_the_calendar() {
    #[rustfmt::skip]
    let cases = [
        // validity      // from                 // to
        ("P365D",        "2027-01-01T12:00:00Z", "2028-01-01T12:00:00Z"),
        ("P1Y",          "2028-02-29T00:00:00Z", "2029-02-28T00:00:00Z"),
        ("P1M",          "2027-01-31T00:00:00Z", "2027-02-28T00:00:00Z"),
        ("P2W",          "2027-03-20T00:00:00Z", "2027-04-03T00:00:00Z"),
        ("PT36H",        "2027-03-27T12:00:00Z", "2027-03-29T00:00:00Z"),
        ("P1DT1S",       "2027-03-27T12:00:00Z", "2027-03-28T12:00:01Z"),
    ];
    for (text, from, to) in cases {
        let end = validity(text).unwrap().after(from.parse().unwrap());
        assert_eq!(end, to.parse().unwrap(), "{text} from {from}");
    }
}

#[test]
fn a_text_without_a_positive_iso_duration_is_no_validity() {
    for text in
        ["", "P", "365D", "1 year", "p1d", "P1D ", "P1y1m", "-P1D", "year", &"P1D".repeat(100)]
    {
        assert!(validity(text).is_err(), "{text}");
    }
    for text in ["P0D", "PT0S", "PT0.999S", "P1001Y", "P99999Y"] {
        assert!(validity(text).is_err(), "{text}");
    }
    assert!(validity("P1000Y").is_ok());
}

#[test]
fn a_validity_beyond_the_calendar_ends_with_it() {
    assert_eq!(validity("P1000Y").unwrap().after(Timestamp::LATEST), Timestamp::LATEST);
}
