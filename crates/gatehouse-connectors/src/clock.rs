//! This machine's clock, for dates in requests and responses of platforms. No rule of gatehouse depends on it.

use std::time::SystemTime;

/// Time by this machine's clock.
#[expect(
    clippy::disallowed_methods,
    reason = "a date means nothing without a clock, and no rule rests on it"
)]
pub(crate) fn machine_time() -> SystemTime {
    SystemTime::now()
}
