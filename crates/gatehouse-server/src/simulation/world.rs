//! What all simulated servers and clients have in common: one database, one time, one seed, one record of what happened.

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
    /// The database's clock, which is the same for all.
    pub(super) clock: Clock,
    pub(super) began: Instant,
    dice: Mutex<SeededRandom>,
    model: Mutex<Model>,
    course: Mutex<Course>,
    is_disturbed: AtomicBool,
    /// Until when nobody reaches the database.
    outage_until: Mutex<Instant>,
}

/// Everything that happened, as one number, and as lines where somebody wants to read them.
struct Course {
    hasher: DefaultHasher,
    n_events: u64,
    is_told: bool,
}

impl World {
    pub(super) fn new(seed: u64, is_told: bool) -> Self {
        let mut dice = SeededRandom(seed);
        let plan = Plan::draw(&mut dice);
        let now = Instant::now();
        Self {
            database: InMemoryDatabase::new().unwrap(),
            clock: Clock::of_runtime(plan.begin),
            plan,
            began: now,
            dice: Mutex::new(dice),
            model: Mutex::default(),
            course: Mutex::new(Course { hasher: DefaultHasher::new(), n_events: 0, is_told }),
            is_disturbed: AtomicBool::new(false),
            outage_until: Mutex::new(now),
        }
    }

    pub(super) fn dice(&self) -> MutexGuard<'_, SeededRandom> {
        self.dice.lock().unwrap()
    }

    pub(super) fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock().unwrap()
    }

    /// Whether something happens now that happens once in so many times; with 0, never.
    pub(super) fn strikes(&self, once_in: u64) -> bool {
        once_in > 0 && self.is_disturbed() && self.dice().roll(once_in) == 0
    }

    /// Some time between these many milliseconds.
    pub(super) fn some_time(&self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.dice().roll(to - from + 1))
    }

    pub(super) fn is_disturbed(&self) -> bool {
        self.is_disturbed.load(Ordering::Relaxed)
    }

    pub(super) fn disturb(&self, is_disturbed: bool) {
        self.is_disturbed.store(is_disturbed, Ordering::Relaxed);
    }

    pub(super) fn begin_outage(&self, time: Duration) {
        *self.outage_until.lock().unwrap() = Instant::now() + time;
        self.tell(|| format!("nobody reaches the database for {time:?}"));
    }

    pub(super) fn is_out(&self) -> bool {
        Instant::now() < *self.outage_until.lock().unwrap()
    }

    /// What time it is for the database.
    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Records something that happened.
    pub(super) fn tell(&self, what: impl FnOnce() -> String) {
        let (mut course, at) = (self.course.lock().unwrap(), self.began.elapsed());
        let what = what();
        (at, &what).hash(&mut course.hasher);
        course.n_events += 1;
        if course.is_told {
            eprintln!("{:>10} ms  {what}", at.as_millis());
        }
    }

    /// The course as one number, and how many events it has.
    pub(super) fn course(&self) -> (u64, u64) {
        let course = self.course.lock().unwrap();
        (course.hasher.finish(), course.n_events)
    }
}
