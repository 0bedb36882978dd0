//! The time of day, where a platform's own words need one: a date in an answer, a time in a question. No rule of
//! ours rests on it.

use std::time::SystemTime;

/// What this machine's clock shows.
#[expect(
    clippy::disallowed_methods,
    reason = "a date means nothing without a clock, and no rule rests on it"
)]
pub(crate) fn machine_time() -> SystemTime {
    SystemTime::now()
}
