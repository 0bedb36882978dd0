//! The shared state of simulated servers and clients: database, clock, random numbers, event log.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use gatehouse_core::Timestamp;
use gatehouse_store::{Clock, InMemoryDatabase};
use gatehouse_testing::SeededRandom;
use tokio::time::Instant;

use super::model::Model;
use super::plan::Plan;

/// The world of one seed.
pub(super) struct World {
    pub(super) database: InMemoryDatabase,
    pub(super) plan: Plan,
    /// The database's clock.
    pub(super) clock: Clock,
    pub(super) began: Instant,
    random: Mutex<SeededRandom>,
    model: Mutex<Model>,
    log: Mutex<EventLog>,
    is_disturbed: AtomicBool,
    /// End of the database's outage.
    outage_until: Mutex<Instant>,
}

/// The event log: a digest, and lines on standard error if verbose.
struct EventLog {
    hasher: DefaultHasher,
    n_events: u64,
    is_verbose: bool,
}

impl World {
    pub(super) fn new(seed: u64, is_verbose: bool) -> Self {
        let mut random = SeededRandom(seed);
        let plan = Plan::draw(&mut random);
        let now = Instant::now();
        Self {
            database: InMemoryDatabase::new().unwrap(),
            clock: Clock::of_runtime(plan.begin),
            plan,
            began: now,
            random: Mutex::new(random),
            model: Mutex::default(),
            log: Mutex::new(EventLog { hasher: DefaultHasher::new(), n_events: 0, is_verbose }),
            is_disturbed: AtomicBool::new(false),
            outage_until: Mutex::new(now),
        }
    }

    pub(super) fn random(&self) -> MutexGuard<'_, SeededRandom> {
        self.random.lock().unwrap()
    }

    pub(super) fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock().unwrap()
    }

    /// Whether an event with a chance of one in `once_in` happens now; never with 0.
    pub(super) fn happens(&self, once_in: u64) -> bool {
        once_in > 0 && self.is_disturbed() && self.random().roll(once_in) == 0
    }

    /// A random time between these milliseconds.
    pub(super) fn random_time(&self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.random().roll(to - from + 1))
    }

    pub(super) fn is_disturbed(&self) -> bool {
        self.is_disturbed.load(Ordering::Relaxed)
    }

    pub(super) fn set_disturbed(&self, is_disturbed: bool) {
        self.is_disturbed.store(is_disturbed, Ordering::Relaxed);
    }

    pub(super) fn begin_outage(&self, time: Duration) {
        *self.outage_until.lock().unwrap() = Instant::now() + time;
        self.log(|| format!("the database is unreachable for {time:?}"));
    }

    pub(super) fn is_outage(&self) -> bool {
        Instant::now() < *self.outage_until.lock().unwrap()
    }

    /// The database's time.
    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Logs an event.
    pub(super) fn log(&self, what: impl FnOnce() -> String) {
        let (mut log, at) = (self.log.lock().unwrap(), self.began.elapsed());
        let what = what();
        (at, &what).hash(&mut log.hasher);
        log.n_events += 1;
        if log.is_verbose {
            eprintln!("{:>10} ms  {what}", at.as_millis());
        }
    }

    /// Digest and number of events.
    pub(super) fn log_digest(&self) -> (u64, u64) {
        let log = self.log.lock().unwrap();
        (log.hasher.finish(), log.n_events)
    }
}
