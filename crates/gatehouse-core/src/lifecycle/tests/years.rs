//! Fifty years of a tenant in each of several time zones: months that end, terminations that are
//! planned and called off, at any time of any day, clock changes and leap days among them.

use super::*;

/// Clock changes of an hour and of half of one, in both halves of the year, at midnight and across it,
/// in the middle of an hour, and none at all.
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

/// Numbers that look like chance and are the same in every run (SplitMix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: i64) -> i64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        i64::try_from((z ^ (z >> 31)) >> 1).unwrap() % n
    }
}

/// Year, month and day that it is in a zone, asked of the zone itself.
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
struct Seen {
    n_planned: u32,
    n_called_off: u32,
    n_ended: u32,
    n_leap_days: u32,
}

#[test]
fn fifty_years_of_months_end_as_planned_in_every_zone() {
    for (n, zone) in ZONES.into_iter().enumerate() {
        let seen = live_through(&zone.parse().unwrap(), Dice(n as u64));
        assert!(seen.n_planned > 400, "{zone}: {}", seen.n_planned);
        assert!(seen.n_called_off > 100, "{zone}: {}", seen.n_called_off);
        assert!(seen.n_ended > 100, "{zone}: {}", seen.n_ended);
        assert!(seen.n_leap_days > 0, "{zone}");
    }
}

fn live_through(zone: &ZoneName, mut dice: Dice) -> Seen {
    let by_use = contract(BillingModel::PayPerUse);
    let (mut now, end): (Timestamp, Timestamp) = (BEGIN.parse().unwrap(), END.parse().unwrap());
    let mut seen = Seen::default();
    // As the database has it where nobody writes ends down, and where somebody does at every step.
    let mut unswept = begin_life(&mut dice, now);
    let mut swept = unswept.clone();
    while now < end {
        now = step(&mut dice, zone, now);
        seen.n_leap_days += u32::from(matches!(date(zone, now), (_, 2, 29)));
        swept = at(&swept, now);
        assert_eq!(at(&unswept, now), swept, "the sweep writes what everyone sees already");

        let before = swept.clone();
        let result = match dice.below(20) {
            0..=7 => Ok(plan_termination(&unswept, zone, now)),
            8..=11 => set_status(&unswept, &by_use, TargetStatus::Active, now),
            12..=15 => set_status(&unswept, &by_use, TargetStatus::Suspended, now),
            16 => rotate_password(&unswept, now),
            17 => set_status(&unswept, &by_use, TargetStatus::Terminated, now),
            _ => Ok(unswept.clone()),
        };
        let Ok(after) = result else {
            assert_eq!(before.status, Status::Terminated, "nothing else is refused");
            (unswept, swept) = new_life(&mut dice, &mut seen, &before, now);
            continue;
        };
        let after_now = at(&after, now);
        if before.status == Status::Terminated {
            assert_eq!(after_now, before, "what is over stays as it was");
            (unswept, swept) = new_life(&mut dice, &mut seen, &before, now);
            continue;
        }
        check_move(zone, &before, &after_now, now, &mut seen);
        (unswept, swept) = (after, after_now);
    }
    seen
}

/// What one operation may have done.
fn check_move(zone: &ZoneName, before: &Access, after: &Access, now: Timestamp, seen: &mut Seen) {
    let case = format!("{} at {now}: {before:?} became {after:?}", zone.as_str());
    if after.status == Status::Terminated {
        assert_eq!((after.end, after.termination), (Some(now), None), "at once: {case}");
        return;
    }
    assert!(after.end.is_none_or(|end| end > now), "{case}");
    match (before.termination, after.termination) {
        (None, Some(planned)) => {
            seen.n_planned += 1;
            assert_eq!(planned.end_before, before.end, "{case}");
            let end = after.end.unwrap();
            assert!(before.end.is_none_or(|before| end <= before), "never prolonged: {case}");
            if before.end != Some(end) {
                // The first instant of a month, and the last one before it is in ours.
                assert_eq!(date(zone, end).2, 1, "{case}");
                let last = end.plus_milliseconds(-1);
                assert_eq!(month(zone, last), month(zone, now), "{case}");
                assert_ne!(month(zone, end), month(zone, now), "{case}");
            } else {
                assert_eq!(month(zone, end.plus_milliseconds(-1)), month(zone, now), "{case}");
            }
            let kept_out = before.status == Status::Suspended;
            assert_eq!(after.status == Status::Suspended, kept_out, "{case}");
        }
        (Some(planned), None) => {
            seen.n_called_off += 1;
            assert_eq!((after.status, after.end), (Status::Active, planned.end_before), "{case}");
        }
        _ => assert_eq!(after.end, before.end, "{case}"),
    }
}

/// Up to six days further, and often to the last or the first milliseconds of one.
fn step(dice: &mut Dice, zone: &ZoneName, now: Timestamp) -> Timestamp {
    let next = match dice.below(4) {
        0 => zone.next_month(now).plus_milliseconds(dice.below(3) - 1),
        1 => now.plus_milliseconds(dice.below(2 * 3_600_000)),
        _ => now.plus_milliseconds(dice.below(6 * DAY)),
    };
    next.max(now)
}

/// Of accesses, one in three has an end of its own.
fn begin_life(dice: &mut Dice, now: Timestamp) -> Access {
    let end = (dice.below(3) == 0).then(|| now.plus_milliseconds(1 + dice.below(90 * DAY)));
    Access { start: now, created_at: now, end, ..access(Status::Active) }
}

fn new_life(dice: &mut Dice, seen: &mut Seen, over: &Access, now: Timestamp) -> (Access, Access) {
    assert!(over.end.is_some_and(|end| end <= now));
    seen.n_ended += 1;
    let new = begin_life(dice, now);
    (new.clone(), new)
}
