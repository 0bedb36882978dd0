//! The simulated connection between one server and the database: latency, failures, and the death of the server itself.
//!
//! Every effect of a server passes here. So a server whose calls wait here for ever is dead, and a server whose calls wait here
//! for long was stopped and goes on as if nothing had happened.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use gatehouse_store::{CallFate, DatabaseCall, Failpoint, Failpoints, Network, Waiters};
use rusqlite::Connection;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::journal;
use super::world::World;

/// For how long a server runs between two stops.
const BETWEEN_STOPS: Duration = Duration::from_secs(10);

/// How one server reaches the database.
pub(super) struct Wire {
    world: Arc<World>,
    pub(super) server: usize,
    state: Mutex<State>,
    /// Cancelled when the server is dead.
    pub(super) died: CancellationToken,
}

#[derive(Clone, Copy)]
struct State {
    /// Whether calls take time and may fail: not while a server starts.
    is_armed: bool,
    stopped_until: Instant,
    /// From when it may be stopped again: a server that is always stopped does nothing that could go wrong.
    stoppable_from: Instant,
}

impl Wire {
    pub(super) fn new(world: &Arc<World>, server: usize) -> Arc<Self> {
        let now = Instant::now();
        let state = State { is_armed: false, stopped_until: now, stoppable_from: now };
        let (world, died) = (Arc::clone(world), CancellationToken::new());
        Arc::new(Self { world, server, state: Mutex::new(state), died })
    }

    /// From now on calls take time.
    pub(super) fn arm(&self) {
        self.state.lock().unwrap().is_armed = true;
    }

    pub(super) fn is_stopped(&self) -> bool {
        Instant::now() < self.state.lock().unwrap().stopped_until
    }

    /// Stops the server for so long.
    pub(super) fn stop(&self, time: Duration) {
        let until = Instant::now() + time;
        let mut state = self.state.lock().unwrap();
        (state.stopped_until, state.stoppable_from) = (until, until + BETWEEN_STOPS);
        drop(state);
        self.world.model().count("stops");
        self.tell(&format!("is stopped for {time:?}"));
    }

    /// Whether the server is to be stopped now, which happens once in so many times.
    fn is_to_stop(&self, once_in: u64) -> bool {
        self.world.strikes(once_in) && Instant::now() >= self.state.lock().unwrap().stoppable_from
    }

    /// Ends the server, unless it is the last one.
    fn die(&self, moment: &str) -> bool {
        let dies = self.world.model().leaves(self.server);
        if dies {
            self.world.model().count("deaths");
            self.tell(&format!("dies {moment}"));
            self.died.cancel();
        }
        dies
    }

    /// Interrupts a worker where the server dies.
    pub(super) fn failpoints(self: &Arc<Self>) -> Failpoints {
        let wire = Arc::clone(self);
        Failpoints::new(move |point: Failpoint| {
            let (world, plan) = (&wire.world, &wire.world.plan);
            if wire.is_to_stop(plan.stop_at_point) {
                // The next call of the step arrives when another server may have the lease.
                wire.stop(world.some_time(14_000, 25_000));
            }
            wire.died.is_cancelled()
                || world.strikes(plan.death_at_point) && wire.die(&format!("at {point:?}"))
        })
    }

    fn tell(&self, what: &str) {
        self.world.tell(|| format!("server {} {what}", self.server));
    }

    /// Waits until the server runs: for ever if it is dead.
    async fn live(&self) {
        if self.died.is_cancelled() {
            pending::<()>().await;
        }
        let until = self.state.lock().unwrap().stopped_until;
        if Instant::now() < until {
            sleep_until(until).await;
            self.world.model().is_disturbed_at(Instant::now());
            // It may have been stopped again, or have died.
            Box::pin(self.live()).await;
        }
    }

    /// What a call takes on its way.
    fn delay(&self) -> Duration {
        match self.world.strikes(self.world.plan.slow) {
            true => {
                let time = self.world.some_time(200, 4000);
                self.world.model().is_disturbed_at(Instant::now() + time);
                time
            }
            false => self.world.some_time(1, 3),
        }
    }

    /// What becomes of a call that has arrived.
    fn fate(&self, call: DatabaseCall) -> CallFate {
        let (world, plan) = (&self.world, &self.world.plan);
        if world.is_out() || world.strikes(plan.unavailable) {
            return CallFate::Unavailable;
        }
        match call == DatabaseCall::Write && world.strikes(plan.unsure) {
            true if world.dice().roll(2) == 0 => CallFate::LostCommitted,
            true => CallFate::LostUndone,
            false => CallFate::Answered,
        }
    }

    /// Lets the server die, stop or go on at this side of a call.
    async fn pass(&self, call: DatabaseCall, side: &str) {
        let (world, plan) = (&self.world, &self.world.plan);
        if world.strikes(plan.death) {
            self.die(&format!("{side} a {call:?}"));
        }
        if self.is_to_stop(plan.stop) {
            self.stop(world.some_time(500, plan.stop_milliseconds_max));
        }
        self.live().await;
    }
}

impl Network for Wire {
    fn send(&self, call: DatabaseCall) -> BoxFuture<'_, CallFate> {
        Box::pin(async move {
            if !self.state.lock().unwrap().is_armed {
                return CallFate::Answered;
            }
            self.pass(call, "before").await;
            sleep(self.delay()).await;
            self.live().await;
            let fate = self.fate(call);
            if fate != CallFate::Answered {
                let mut model = self.world.model();
                model.is_disturbed_at(Instant::now());
                model.count(if fate == CallFate::Unavailable {
                    "calls that failed"
                } else {
                    "commits lost"
                });
            }
            self.tell(&format!("{call:?} {fate:?}"));
            fate
        })
    }

    fn committed(&self, connection: &Connection) {
        let by = super::model::Worker { server: self.server, task: tokio::task::try_id() };
        let now = self.world.now();
        let events = journal::take(connection, now);
        for event in &events {
            self.tell(&format!("{event:?}"));
        }
        self.world.model().see(&events, by, now);
    }

    fn receive(&self, call: DatabaseCall) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if !self.state.lock().unwrap().is_armed {
                return;
            }
            if call == DatabaseCall::Write {
                sleep(self.delay()).await;
            }
            self.pass(call, "after").await;
        })
    }

    fn elapsed(&self, by_clock: Duration) -> Duration {
        // Longer than requests or batches may be blocked, or longer than any stretch may take.
        match self.world.strikes(self.world.plan.long) {
            true if self.world.dice().roll(8) == 0 => Duration::from_secs(6),
            true => Duration::from_millis(60),
            false => by_clock,
        }
    }

    fn waiters(&self) -> Waiters {
        match self.world.dice().roll(4) {
            0 => Waiters::Requests,
            1 => Waiters::Batches,
            _ => Waiters::None,
        }
    }
}

/// How the simulation itself reaches the database: at once, and always.
pub(super) struct Direct;

impl Network for Direct {
    fn send(&self, _: DatabaseCall) -> BoxFuture<'_, CallFate> {
        Box::pin(async { CallFate::Answered })
    }
}
