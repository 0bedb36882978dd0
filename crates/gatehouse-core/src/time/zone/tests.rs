use super::*;
use proptest::prelude::*;

#[test]
fn zones_come_from_the_database_in_its_spelling() {
    assert_eq!("europe/berlin".parse::<ZoneName>().unwrap().as_str(), "Europe/Berlin");
    assert_eq!("UTC".parse::<ZoneName>().unwrap(), ZoneName::default());
    for bad in ["", "Mars/Olympus", "+01:00", "Europe/Berlin\0"] {
        assert!(bad.parse::<ZoneName>().is_err(), "{bad:?}");
    }
}

fn instant(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[test]
fn a_month_ends_in_the_tenants_zone() {
    #[rustfmt::skip]
    let cases = [
        // zone                 // now                       // the next month begins
        ("UTC",                 "2026-11-15T12:00:00Z",      "2026-12-01T00:00:00Z"),
        ("UTC",                 "2026-11-30T23:59:59.999Z",  "2026-12-01T00:00:00Z"),
        ("UTC",                 "2026-12-01T00:00:00Z",      "2027-01-01T00:00:00Z"),
        ("Europe/Berlin",       "2026-11-30T22:59:59.999Z",  "2026-11-30T23:00:00Z"),
        ("Europe/Berlin",       "2026-11-30T23:00:00Z",      "2026-12-31T23:00:00Z"),
        ("Europe/Berlin",       "2027-03-15T00:00:00Z",      "2027-03-31T22:00:00Z"),
        ("Asia/Kathmandu",      "2028-02-28T18:15:00Z",      "2028-02-29T18:15:00Z"),
        ("Pacific/Kiritimati",  "2028-02-29T09:59:59Z",      "2028-02-29T10:00:00Z"),
        ("Pacific/Pago_Pago",   "2028-02-29T09:59:59Z",      "2028-03-01T11:00:00Z"),
        // The 30th of December was skipped.
        ("Pacific/Apia",        "2011-12-30T09:59:59Z",      "2011-12-31T10:00:00Z"),
        // Midnight is skipped: the month begins at one o'clock.
        ("America/Asuncion",    "2017-09-15T00:00:00Z",      "2017-10-01T04:00:00Z"),
        ("Asia/Amman",          "2016-03-15T00:00:00Z",      "2016-03-31T22:00:00Z"),
        // Midnight comes twice: the month begins with the first.
        ("America/Havana",      "2015-10-31T12:00:00Z",      "2015-11-01T04:00:00Z"),
        ("America/Havana",      "2015-11-01T05:30:00Z",      "2015-12-01T05:00:00Z"),
        // A minute after midnight it is October again, which then ends a second time.
        ("America/St_Johns",    "2009-10-31T12:00:00Z",      "2009-11-01T02:30:00Z"),
        ("America/St_Johns",    "2009-11-01T02:30:30Z",      "2009-12-01T03:30:00Z"),
        ("America/St_Johns",    "2009-11-01T02:45:00Z",      "2009-11-01T03:30:00Z"),
        // The hour before midnight comes twice.
        ("Africa/Cairo",        "2024-10-31T20:30:00Z",      "2024-10-31T22:00:00Z"),
        ("Africa/Cairo",        "2024-10-31T21:30:00Z",      "2024-10-31T22:00:00Z"),
        ("UTC",                 "9999-12-15T00:00:00Z",      "9999-12-31T23:59:59.999Z"),
        ("Asia/Tokyo",          "9999-12-31T23:00:00Z",      "9999-12-31T23:59:59.999Z"),
    ];
    for (zone, now, expected) in cases {
        let zone: ZoneName = zone.parse().unwrap();
        let next = zone.next_month(instant(now));
        assert_eq!(next, instant(expected), "{} at {now}", zone.as_str());
    }
}

/// No month has begun like this, but days have: clocks went from half past eleven to half past twelve.
#[test]
fn a_day_whose_midnight_is_in_the_middle_of_a_gap_begins_at_its_end() {
    let zone = "America/Toronto".parse::<ZoneName>().unwrap().time_zone();
    let midnight = jiff::civil::date(1919, 3, 31).at(0, 0, 0, 0);
    let begins = first_instant(&zone, midnight, jiff::Timestamp::MIN).unwrap();
    assert_eq!(begins.to_string(), "1919-03-31T04:30:00Z");
    assert_eq!(zone.to_datetime(begins).to_string(), "1919-03-31T00:30:00");
}

/// A zone of the database, and an instant between 1971 and 2100.
fn any_zone_and_time() -> impl Strategy<Value = (ZoneName, Timestamp)> {
    let names: Vec<_> = jiff::tz::db().available().map(|name| name.to_string()).collect();
    let names = names.into_iter().filter_map(|name| name.parse().ok()).collect::<Vec<ZoneName>>();
    let time = instant("1971-01-01").as_millisecond()..instant("2100-01-01").as_millisecond();
    (prop::sample::select(names), time.prop_map(|it| Timestamp::from_millisecond(it).unwrap()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_month_begins_with_its_first_instant_in_every_zone((zone, now) in any_zone_and_time()) {
        let month = |at: Timestamp| {
            let at = jiff::Timestamp::from_millisecond(at.as_millisecond()).unwrap();
            zone.time_zone().to_datetime(at).date().first_of_month()
        };
        let next = zone.next_month(now);
        prop_assert!(next > now);
        prop_assert_eq!(month(next), month(now).checked_add(1.month()).unwrap());
        prop_assert_eq!(month(next.plus_milliseconds(-1)), month(now));
        prop_assert!(zone.next_month(next) > next);
    }
}
