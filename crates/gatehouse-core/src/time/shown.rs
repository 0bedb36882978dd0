//! An instant as responses show it, written without an allocation: a long response has a hundred thousand.

use super::{MILLISECONDS_A_DAY, Timestamp};

/// `2026-11-01T12:30:00.000Z`
const FORM: [u8; 24] = *b"0000-00-00T00:00:00.000Z";

/// Days from the first of March of the year 0 to the epoch. In years that begin in March, the leap day comes last.
const MARCH_0000: i64 = 719_468;

/// Days in 400 years, after which the calendar repeats.
const DAYS_OF_400_YEARS: i64 = 146_097;

/// The text of an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownTime([u8; FORM.len()]);

impl ShownTime {
    /// The text as bytes of a response.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("digits and signs are ASCII")
    }
}

impl Timestamp {
    /// The instant as responses show it: UTC, with milliseconds and `Z`.
    pub fn shown(self) -> ShownTime {
        let (year, month, day) = date(self.day());
        let of_day = self.0.rem_euclid(MILLISECONDS_A_DAY);
        let (seconds, milliseconds) = (of_day / 1000, of_day % 1000);
        let mut text = FORM;
        put(&mut text[0..4], year);
        put(&mut text[5..7], month);
        put(&mut text[8..10], day);
        put(&mut text[11..13], seconds / 3600);
        put(&mut text[14..16], seconds / 60 % 60);
        put(&mut text[17..19], seconds % 60);
        put(&mut text[20..23], milliseconds);
        ShownTime(text)
    }
}

/// Year, month and day of a day, given in days since the epoch.
fn date(day: i64) -> (i64, i64, i64) {
    let since_march = day + MARCH_0000;
    let (era, of_era) =
        (since_march.div_euclid(DAYS_OF_400_YEARS), since_march.rem_euclid(DAYS_OF_400_YEARS));
    // Leap days before this one: one in 4 years, none in 100, one in 400 after all.
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // From March on, every five months have 153 days.
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let is_next_year = month_from_march >= 10;
    let month = if is_next_year { month_from_march - 9 } else { month_from_march + 3 };
    (400 * era + year_of_era + i64::from(is_next_year), month, day)
}

/// Writes a number in as many digits as the slice has bytes.
fn put(digits: &mut [u8], number: i64) {
    let mut rest = number;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The text by the calendar library.
    fn by_the_library(at: Timestamp) -> String {
        format!("{:.3}Z", at.civil())
    }

    proptest! {
        #[test]
        fn every_instant_is_shown_as_the_library_shows_it(
            milliseconds in Timestamp::EARLIEST.0..=Timestamp::LATEST.0,
        ) {
            let at = Timestamp(milliseconds);
            prop_assert_eq!(at.to_string(), by_the_library(at));
        }
    }

    #[test]
    fn every_day_of_the_calendar_has_the_right_date() {
        for day in Timestamp::EARLIEST.day()..=Timestamp::LATEST.day() {
            let begin = Timestamp::of_day(day).unwrap();
            assert_eq!(begin.shown().as_str()[..10], begin.civil().date().to_string());
            let end = begin.plus_milliseconds(MILLISECONDS_A_DAY - 1);
            assert_eq!(end.shown().as_str()[10..], *"T23:59:59.999Z");
            assert_eq!(end.shown().as_str()[..10], begin.shown().as_str()[..10]);
        }
    }
}
