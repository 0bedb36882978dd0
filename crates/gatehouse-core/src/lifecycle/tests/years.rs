//! Fifty years of a tenant in each of several time zones: month ends, planned and cancelled terminations, at any time
//! of day, with clock changes and leap days.

use super::*;

/// Clock changes of an hour and of half an hour, in both halves of the year, at midnight and across it, in the middle
/// of an hour, and none at all.
const ZONES: [&str; 12] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/St_Johns",
    "America/Santiago",
    "America/Havana",
    "Africa/Cairo",
    "Africa/Casablanca",
    "Asia/Kathmandu",
    "Asia/Beirut",
    "Australia/Lord_Howe",
    "Pacific/Apia",
];

const BEGIN: &str = "2026-01-01T00:00:00Z";
const END: &str = "2076-01-01T00:00:00Z";

/// Pseudo-random numbers, equal in every run (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, n: i64) -> i64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        i64::try_from((z ^ (z >> 31)) >> 1).unwrap() % n
    }
}

/// Year, month and day in a zone, by the zone's own rules.
fn date(zone: &ZoneName, at: Timestamp) -> (i16, i8, i8) {
    let zone = jiff::tz::TimeZone::get(zone.as_str()).unwrap();
    let at = jiff::Timestamp::from_millisecond(at.as_millisecond()).unwrap();
    let date = zone.to_datetime(at).date();
    (date.year(), date.month(), date.day())
}

fn month(zone: &ZoneName, at: Timestamp) -> (i16, i8) {
    let (year, month, _) = date(zone, at);
    (year, month)
}

#[derive(Default)]
struct EventCounts {
    n_planned: u32,
    n_cancelled: u32,
    n_ended: u32,
    n_leap_days: u32,
}

#[test]
fn fifty_years_of_months_end_as_planned_in_every_zone() {
    for (n, zone) in ZONES.into_iter().enumerate() {
        let counts = simulate(&zone.parse().unwrap(), Random(n as u64));
        assert!(counts.n_planned > 400, "{zone}: {}", counts.n_planned);
        assert!(counts.n_cancelled > 100, "{zone}: {}", counts.n_cancelled);
        assert!(counts.n_ended > 100, "{zone}: {}", counts.n_ended);
        assert!(counts.n_leap_days > 0, "{zone}");
    }
}

fn simulate(zone: &ZoneName, mut random: Random) -> EventCounts {
    let by_use = contract(BillingModel::PayPerUse);
    let (mut now, end): (Timestamp, Timestamp) = (BEGIN.parse().unwrap(), END.parse().unwrap());
    let mut counts = EventCounts::default();
    // The stored access without a sweep, and with a sweep at every step.
    let mut unswept = new_access(&mut random, now);
    let mut swept = unswept.clone();
    while now < end {
        now = step(&mut random, zone, now);
        counts.n_leap_days += u32::from(matches!(date(zone, now), (_, 2, 29)));
        swept = at(&swept, now);
        assert_eq!(at(&unswept, now), swept, "the sweep stores what readers see already");

        let before = swept.clone();
        let result = match random.below(20) {
            0..=7 => Ok(plan_termination(&unswept, zone, now)),
            8..=11 => set_status(&unswept, &by_use, TargetStatus::Active, now),
            12..=15 => set_status(&unswept, &by_use, TargetStatus::Suspended, now),
            16 => rotate_password(&unswept, now),
            17 => set_status(&unswept, &by_use, TargetStatus::Terminated, now),
            _ => Ok(unswept.clone()),
        };
        let Ok(after) = result else {
            assert_eq!(before.status, Status::Terminated, "nothing else is refused");
            (unswept, swept) = replace_ended(&mut random, &mut counts, &before, now);
            continue;
        };
        let after_now = at(&after, now);
        if before.status == Status::Terminated {
            assert_eq!(after_now, before, "an ended access stays as it was");
            (unswept, swept) = replace_ended(&mut random, &mut counts, &before, now);
            continue;
        }
        check_operation(zone, &before, &after_now, now, &mut counts);
        (unswept, swept) = (after, after_now);
    }
    counts
}

/// Checks the effect of one operation.
fn check_operation(
    zone: &ZoneName,
    before: &Access,
    after: &Access,
    now: Timestamp,
    counts: &mut EventCounts,
) {
    let case = format!("{} at {now}: {before:?} became {after:?}", zone.as_str());
    if after.status == Status::Terminated {
        assert_eq!((after.end, after.termination), (Some(now), None), "at once: {case}");
        return;
    }
    assert!(after.end.is_none_or(|end| end > now), "{case}");
    match (before.termination, after.termination) {
        (None, Some(planned)) => {
            counts.n_planned += 1;
            assert_eq!(planned.end_before, before.end, "{case}");
            let end = after.end.unwrap();
            assert!(before.end.is_none_or(|before| end <= before), "never prolonged: {case}");
            if before.end != Some(end) {
                // The end is the first instant of a month, and the instant before it is in this month.
                assert_eq!(date(zone, end).2, 1, "{case}");
                let last = end.plus_milliseconds(-1);
                assert_eq!(month(zone, last), month(zone, now), "{case}");
                assert_ne!(month(zone, end), month(zone, now), "{case}");
            } else {
                assert_eq!(month(zone, end.plus_milliseconds(-1)), month(zone, now), "{case}");
            }
            let is_suspended = before.status == Status::Suspended;
            assert_eq!(after.status == Status::Suspended, is_suspended, "{case}");
        }
        (Some(planned), None) => {
            counts.n_cancelled += 1;
            assert_eq!((after.status, after.end), (Status::Active, planned.end_before), "{case}");
        }
        _ => assert_eq!(after.end, before.end, "{case}"),
    }
}

/// Advances up to six days, often to the first or last milliseconds of a day.
fn step(random: &mut Random, zone: &ZoneName, now: Timestamp) -> Timestamp {
    let next = match random.below(4) {
        0 => zone.next_month(now).plus_milliseconds(random.below(3) - 1),
        1 => now.plus_milliseconds(random.below(2 * 3_600_000)),
        _ => now.plus_milliseconds(random.below(6 * DAY)),
    };
    next.max(now)
}

/// A new access; one in three has its own end.
fn new_access(random: &mut Random, now: Timestamp) -> Access {
    let end = (random.below(3) == 0).then(|| now.plus_milliseconds(1 + random.below(90 * DAY)));
    Access { start: now, created_at: now, end, ..access(Status::Active) }
}

fn replace_ended(
    random: &mut Random,
    counts: &mut EventCounts,
    over: &Access,
    now: Timestamp,
) -> (Access, Access) {
    assert!(over.end.is_some_and(|end| end <= now));
    counts.n_ended += 1;
    let new = new_access(random, now);
    (new.clone(), new)
}
