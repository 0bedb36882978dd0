//! The clock: the only place that reads the time. Everything else gets the time as an argument.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::SystemTime;

use gatehouse_core::Timestamp;
use tokio::time::Instant;

/// Tells the time in whole milliseconds: the machine's, or one that a test sets or simulates.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    Machine,
    Hand(Arc<AtomicI64>),
    Runtime { began: Instant, at: Timestamp },
}

impl Clock {
    /// The machine's clock.
    pub fn machine() -> Self {
        Self(Source::Machine)
    }

    /// A clock that stands still until [`Clock::set`] moves it.
    pub fn by_hand(now: Timestamp) -> Self {
        Self(Source::Hand(Arc::new(AtomicI64::new(now.as_millisecond()))))
    }

    /// A clock that starts at `at` and follows the runtime's time, which a test may pause.
    pub fn of_runtime(at: Timestamp) -> Self {
        Self(Source::Runtime { began: Instant::now(), at })
    }

    /// Current time.
    #[expect(clippy::disallowed_methods, reason = "this is the clock's one home")]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::Machine => {
                let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
                let milliseconds = since.ok().and_then(|it| i64::try_from(it.as_millis()).ok());
                // A machine clock before 1970 or after 9999 is of no use.
                let now = milliseconds.and_then(|it| Timestamp::from_millisecond(it).ok());
                now.unwrap_or(Timestamp::EPOCH)
            }
            Source::Hand(now) => Timestamp::from_millisecond(now.load(Ordering::SeqCst))
                .expect("only timestamps are put in"),
            Source::Runtime { began, at } => {
                let passed = i64::try_from(began.elapsed().as_millis());
                at.plus_milliseconds(passed.unwrap_or(i64::MAX))
            }
        }
    }

    /// Sets a clock of [`Clock::by_hand`]; does nothing to the others.
    pub fn set(&self, now: Timestamp) {
        if let Source::Hand(hand) = &self.0 {
            hand.store(now.as_millisecond(), Ordering::SeqCst);
        }
    }

    /// Whether this is the machine's clock: a database server's clock is preferred to it.
    pub(crate) fn is_machine(&self) -> bool {
        matches!(self.0, Source::Machine)
    }
}
