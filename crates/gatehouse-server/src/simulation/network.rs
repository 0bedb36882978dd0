//! A simulated server's link to the database: latency, failures, and the server's death.
//!
//! Every effect of a server passes through its link. So a server whose calls wait here for ever is dead, and one whose
//! calls wait for long was stopped and continues as if nothing had happened.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use gatehouse_store::{CallFate, DatabaseCall, Failpoint, Failpoints, Network, Waiters};
use rusqlite::Connection;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::table_history;
use super::world::World;

/// Shortest time between two stops of a server.
const STOP_INTERVAL_MIN: Duration = Duration::from_secs(10);

/// A server's link to the database.
pub(super) struct ServerLink {
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
    /// Earliest next stop: a server that is always stopped does nothing that could go wrong.
    stoppable_from: Instant,
}

impl ServerLink {
    pub(super) fn new(world: &Arc<World>, server: usize) -> Arc<Self> {
        let now = Instant::now();
        let state = State { is_armed: false, stopped_until: now, stoppable_from: now };
        let (world, died) = (Arc::clone(world), CancellationToken::new());
        Arc::new(Self { world, server, state: Mutex::new(state), died })
    }

    /// Makes calls take time and fail from now on.
    pub(super) fn arm(&self) {
        self.state.lock().unwrap().is_armed = true;
    }

    pub(super) fn is_stopped(&self) -> bool {
        Instant::now() < self.state.lock().unwrap().stopped_until
    }

    /// Stops the server for this time.
    pub(super) fn stop(&self, time: Duration) {
        let until = Instant::now() + time;
        let mut state = self.state.lock().unwrap();
        (state.stopped_until, state.stoppable_from) = (until, until + STOP_INTERVAL_MIN);
        drop(state);
        self.world.model().count("stops");
        self.log(&format!("is stopped for {time:?}"));
    }

    /// Whether the server stops now, with a chance of one in `once_in`.
    fn stops_now(&self, once_in: u64) -> bool {
        self.world.happens(once_in) && Instant::now() >= self.state.lock().unwrap().stoppable_from
    }

    /// Kills the server, unless it is the last one; returns whether it did.
    fn die(&self, moment: &str) -> bool {
        let dies = self.world.model().remove_server(self.server);
        if dies {
            self.world.model().count("deaths");
            self.log(&format!("dies {moment}"));
            self.died.cancel();
        }
        dies
    }

    /// Failpoints at which the server stops or dies.
    pub(super) fn failpoints(self: &Arc<Self>) -> Failpoints {
        let link = Arc::clone(self);
        Failpoints::new(move |point: Failpoint| {
            let (world, plan) = (&link.world, &link.world.plan);
            if link.stops_now(plan.stop_at_point) {
                // The step's next call arrives when another server may hold the lease.
                link.stop(world.random_time(14_000, 25_000));
            }
            link.died.is_cancelled()
                || world.happens(plan.death_at_point) && link.die(&format!("at {point:?}"))
        })
    }

    fn log(&self, what: &str) {
        self.world.log(|| format!("server {} {what}", self.server));
    }

    /// Waits until the server runs: for ever if it is dead.
    async fn wait_until_running(&self) {
        if self.died.is_cancelled() {
            pending::<()>().await;
        }
        let until = self.state.lock().unwrap().stopped_until;
        if Instant::now() < until {
            sleep_until(until).await;
            self.world.model().record_disturbance(Instant::now());
            // It may have been stopped again, or died.
            Box::pin(self.wait_until_running()).await;
        }
    }

    /// Latency of a call.
    fn delay(&self) -> Duration {
        match self.world.happens(self.world.plan.slow) {
            true => {
                let time = self.world.random_time(200, 4000);
                self.world.model().record_disturbance(Instant::now() + time);
                time
            }
            false => self.world.random_time(1, 3),
        }
    }

    /// Fate of a call that arrived.
    fn fate(&self, call: DatabaseCall) -> CallFate {
        let (world, plan) = (&self.world, &self.world.plan);
        if world.is_outage() || world.happens(plan.unavailable) {
            return CallFate::Unavailable;
        }
        match call == DatabaseCall::Write && world.happens(plan.unsure) {
            true if world.random().roll(2) == 0 => CallFate::LostCommitted,
            true => CallFate::LostUndone,
            false => CallFate::Answered,
        }
    }

    /// Kills or stops the server at this side of a call, or lets it continue.
    async fn pass(&self, call: DatabaseCall, side: &str) {
        let (world, plan) = (&self.world, &self.world.plan);
        if world.happens(plan.death) {
            self.die(&format!("{side} a {call:?}"));
        }
        if self.stops_now(plan.stop) {
            self.stop(world.random_time(500, plan.stop_milliseconds_max));
        }
        self.wait_until_running().await;
    }
}

impl Network for ServerLink {
    fn send(&self, call: DatabaseCall) -> BoxFuture<'_, CallFate> {
        Box::pin(async move {
            if !self.state.lock().unwrap().is_armed {
                return CallFate::Answered;
            }
            self.pass(call, "before").await;
            sleep(self.delay()).await;
            self.wait_until_running().await;
            let fate = self.fate(call);
            if fate != CallFate::Answered {
                let mut model = self.world.model();
                model.record_disturbance(Instant::now());
                model.count(if fate == CallFate::Unavailable {
                    "calls that failed"
                } else {
                    "commits lost"
                });
            }
            self.log(&format!("{call:?} {fate:?}"));
            fate
        })
    }

    fn committed(&self, connection: &Connection) {
        let by = super::model::Worker { server: self.server, task: tokio::task::try_id() };
        let now = self.world.now();
        let events = table_history::take(connection, now);
        for event in &events {
            self.log(&format!("{event:?}"));
        }
        self.world.model().check(&events, by, now);
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
        // Longer than requests or batches may be blocked, or than any chunk may take.
        match self.world.happens(self.world.plan.long) {
            true if self.world.random().roll(8) == 0 => Duration::from_secs(6),
            true => Duration::from_millis(60),
            false => by_clock,
        }
    }

    fn waiters(&self) -> Waiters {
        match self.world.random().roll(5) {
            0 => Waiters::Requests,
            1 => Waiters::Batches,
            2 => Waiters::Journal,
            _ => Waiters::None,
        }
    }
}

/// The simulation's own link, without latency and failures.
pub(super) struct Direct;

impl Network for Direct {
    fn send(&self, _: DatabaseCall) -> BoxFuture<'_, CallFate> {
        Box::pin(async { CallFate::Answered })
    }
}
