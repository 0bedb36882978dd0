//! The connections that are held, and which of them give way when there is no room for another.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The connections of one listener. There are never more than it has room for.
pub(super) struct Connections {
    capacity: usize,
    held: Mutex<Registry>,
}

#[derive(Default)]
struct Registry {
    next: u64,
    connections: HashMap<u64, Arc<Activity>>,
}

impl Connections {
    pub(super) fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Self { capacity, held: Mutex::default() })
    }

    /// Takes one more, if need be in place of the one that has been idle for longest. Nothing when all of
    /// them are busy.
    pub(super) fn admit(self: &Arc<Self>) -> Option<Held> {
        let mut held = self.held.lock();
        let is_in_place_of_another = held.connections.len() >= self.capacity;
        if is_in_place_of_another && !held.close_longest_idle() {
            return None;
        }
        let (id, activity) = (held.next, Arc::new(Activity::new()));
        held.next += 1;
        held.connections.insert(id, Arc::clone(&activity));
        Some(Held { connections: Arc::clone(self), id, activity, is_in_place_of_another })
    }

    /// Closes the connection that has been idle for longest; tells whether there was one.
    pub(super) fn make_room(&self) -> bool {
        self.held.lock().close_longest_idle()
    }

    /// Closes all that have no request under way.
    pub(super) fn close_idle(&self) {
        for activity in self.held.lock().connections.values() {
            if activity.idle_since().is_some() {
                activity.close_at_once();
            }
        }
    }
}

impl Registry {
    // Looks at all of them, but only when all places are taken.
    fn close_longest_idle(&mut self) -> bool {
        let idle = self.connections.iter().filter_map(|(id, it)| Some((it.waiting_since()?, *id)));
        let Some((_, id)) = idle.min() else { return false };
        // It is no longer counted: it has no way to stay.
        if let Some(activity) = self.connections.remove(&id) {
            activity.close_at_once();
        }
        true
    }
}

/// The place of a connection, which is free again when this is dropped.
pub(super) struct Held {
    connections: Arc<Connections>,
    id: u64,
    pub(super) activity: Arc<Activity>,
    /// Whether another one had to give way.
    pub(super) is_in_place_of_another: bool,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.connections.held.lock().connections.remove(&self.id);
    }
}

/// What a connection is doing, shared by those who serve it and those who might close it.
pub(super) struct Activity {
    state: Mutex<State>,
    closing: CancellationToken,
    /// Whether somebody else needs the place.
    hurried: AtomicBool,
}

struct State {
    n_requests: usize,
    /// How many requests there have ever been.
    n_begun: u64,
    /// How many of the requests wait for their bodies.
    n_awaited: usize,
    /// How many bytes the body of the last request has, where its head says so.
    body_bytes: Option<u64>,
    /// Whether an answer waits for the client to read.
    blocked: bool,
    /// Since when it has been idle, or waiting for the client, if it is.
    since: Instant,
}

/// A request that is under way, until this is dropped.
pub(super) struct Busy(Arc<Activity>);

impl Activity {
    fn new() -> Self {
        let state = State {
            n_requests: 0,
            n_begun: 0,
            n_awaited: 0,
            body_bytes: None,
            blocked: false,
            since: Instant::now(),
        };
        Self {
            state: Mutex::new(state),
            closing: CancellationToken::new(),
            hurried: AtomicBool::new(false),
        }
    }

    /// Notes that a request has begun.
    pub(super) fn begin(self: &Arc<Self>) -> Busy {
        let mut state = self.state.lock();
        state.n_requests += 1;
        state.n_begun += 1;
        state.body_bytes = None;
        Busy(Arc::clone(self))
    }

    /// Notes how many bytes the body of the request has that has just begun, where its head says so.
    pub(super) fn expect_body(&self, n_bytes: Option<u64>) {
        self.state.lock().body_bytes = n_bytes;
    }

    /// How many bytes the body of the last request has, where its head says so.
    pub(super) fn body_bytes(&self) -> Option<u64> {
        self.state.lock().body_bytes
    }

    /// How many requests there have ever been, when none of them is under way.
    pub(super) fn n_begun_at_rest(&self) -> Option<u64> {
        let state = self.state.lock();
        (state.n_requests == 0).then_some(state.n_begun)
    }

    /// How many requests there have ever been.
    pub(super) fn n_begun(&self) -> u64 {
        self.state.lock().n_begun
    }

    /// Notes whether an answer waits for the client to read.
    pub(super) fn set_blocked(&self, blocked: bool) {
        let mut state = self.state.lock();
        state.blocked = blocked;
        state.since = Instant::now();
    }

    /// Notes that part of an answer went out.
    pub(super) fn touch(&self) {
        self.state.lock().since = Instant::now();
    }

    /// Since when nothing has been under way; nothing when something is.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let state = self.state.lock();
        (state.n_requests == 0 && !state.blocked).then_some(state.since)
    }

    /// Since when it has been idle, or nothing could be done but wait for the client's bodies: one that
    /// sends a byte a second has no better claim to its place than one that sends none.
    fn waiting_since(&self) -> Option<Instant> {
        let state = self.state.lock();
        (state.n_requests == state.n_awaited && !state.blocked).then_some(state.since)
    }

    /// Whether nothing is lost when the connection ends now. Whose place is needed may go also while its
    /// client is waited for.
    pub(super) fn may_go(&self) -> bool {
        let may_go = if self.is_hurried() { self.waiting_since() } else { self.idle_since() };
        may_go.is_some()
    }

    /// Notes that a request waits for its body, until what this returns is dropped.
    pub(super) fn await_body(self: &Arc<Self>) -> Awaited {
        let mut state = self.state.lock();
        state.n_awaited += 1;
        state.since = Instant::now();
        Awaited(Arc::clone(self))
    }

    /// Asks for the connection to be closed, by whoever serves it.
    pub(super) fn close(&self) {
        self.closing.cancel();
    }

    /// The same, without ceremony.
    fn close_at_once(&self) {
        self.hurried.store(true, Ordering::Release);
        self.close();
    }

    /// Whether the connection is to be closed without ceremony.
    pub(super) fn is_hurried(&self) -> bool {
        self.hurried.load(Ordering::Acquire)
    }

    /// Comes when the connection is to be closed.
    pub(super) async fn closing(&self) {
        self.closing.cancelled().await;
    }
}

/// A body that is waited for, until this is dropped.
pub(super) struct Awaited(Arc<Activity>);

impl Drop for Awaited {
    fn drop(&mut self) {
        self.0.state.lock().n_awaited -= 1;
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.n_requests -= 1;
        state.since = Instant::now();
    }
}

#[cfg(test)]
mod tests;
