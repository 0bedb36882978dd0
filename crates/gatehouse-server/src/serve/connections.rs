//! Open connections, and which of them is closed when a new one exceeds the limit.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The connections of one listener, at most `capacity`.
pub(super) struct Connections {
    capacity: usize,
    registry: Mutex<Registry>,
}

#[derive(Default)]
struct Registry {
    next: u64,
    connections: HashMap<u64, Arc<Activity>>,
}

impl Connections {
    pub(super) fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Self { capacity, registry: Mutex::default() })
    }

    /// Admits a connection, if necessary by closing the longest idle one; `None` if all are busy.
    pub(super) fn admit(self: &Arc<Self>) -> Option<Slot> {
        let mut registry = self.registry.lock();
        let evicts_another = registry.connections.len() >= self.capacity;
        if evicts_another && !registry.evict_longest_idle() {
            return None;
        }
        let (id, activity) = (registry.next, Arc::new(Activity::new()));
        registry.next += 1;
        registry.connections.insert(id, Arc::clone(&activity));
        Some(Slot { connections: Arc::clone(self), id, activity, evicts_another })
    }

    /// Closes the longest idle connection; false if there is none.
    pub(super) fn evict_longest_idle(&self) -> bool {
        self.registry.lock().evict_longest_idle()
    }

    /// Closes all connections without a request in progress, also those that wait only for the reader of a stream that
    /// has ended.
    pub(super) fn close_idle(&self) {
        for activity in self.registry.lock().connections.values() {
            if activity.idle_since().is_some() || activity.is_behind_endless_body() {
                activity.evict();
            }
        }
    }
}

impl Registry {
    // Scans all connections, but only at the limit.
    fn evict_longest_idle(&mut self) -> bool {
        let idle = self.connections.iter().filter_map(|(id, it)| Some((it.waiting_since()?, *id)));
        let Some((_, id)) = idle.min() else { return false };
        // Not counted any more: it can't stay.
        if let Some(activity) = self.connections.remove(&id) {
            activity.evict();
        }
        true
    }
}

/// A connection's slot, which is free again when this is dropped.
pub(super) struct Slot {
    connections: Arc<Connections>,
    id: u64,
    pub(super) activity: Arc<Activity>,
    /// Whether an idle connection was closed for it.
    pub(super) evicts_another: bool,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.connections.registry.lock().connections.remove(&self.id);
    }
}

/// State of a connection, shared by its task and the registry.
pub(super) struct Activity {
    state: Mutex<State>,
    closing: CancellationToken,
    /// Whether the slot is needed for another connection.
    evicted: AtomicBool,
}

struct State {
    n_requests: usize,
    /// Number of requests ever.
    n_started: u64,
    /// Number of requests that wait for their bodies.
    n_awaiting_body: usize,
    /// Length of the last request's body, if its head has it.
    body_bytes: Option<u64>,
    /// Whether a response waits for the client to read.
    blocked: bool,
    /// Whether a response had a body without an end: its reader misses nothing when the connection is closed.
    has_endless_body: bool,
    /// Start of the present idle or waiting time.
    since: Instant,
}

/// A request in progress, until this is dropped.
pub(super) struct ActiveRequest(Arc<Activity>);

impl Activity {
    fn new() -> Self {
        let state = State {
            n_requests: 0,
            n_started: 0,
            n_awaiting_body: 0,
            body_bytes: None,
            blocked: false,
            has_endless_body: false,
            since: Instant::now(),
        };
        Self {
            state: Mutex::new(state),
            closing: CancellationToken::new(),
            evicted: AtomicBool::new(false),
        }
    }

    /// Records the start of a request.
    pub(super) fn begin(self: &Arc<Self>) -> ActiveRequest {
        let mut state = self.state.lock();
        state.n_requests += 1;
        state.n_started += 1;
        state.body_bytes = None;
        ActiveRequest(Arc::clone(self))
    }

    /// Records the length of the body of the request that has just started, if its head has it.
    pub(super) fn expect_body(&self, n_bytes: Option<u64>) {
        self.state.lock().body_bytes = n_bytes;
    }

    /// Length of the last request's body, if its head has it.
    pub(super) fn body_bytes(&self) -> Option<u64> {
        self.state.lock().body_bytes
    }

    /// Number of requests ever, if none is in progress.
    pub(super) fn n_started_when_idle(&self) -> Option<u64> {
        let state = self.state.lock();
        (state.n_requests == 0).then_some(state.n_started)
    }

    /// Number of requests ever.
    pub(super) fn n_started(&self) -> u64 {
        self.state.lock().n_started
    }

    /// Records whether a response waits for the client to read.
    pub(super) fn set_blocked(&self, blocked: bool) {
        let mut state = self.state.lock();
        state.blocked = blocked;
        state.since = Instant::now();
    }

    /// Records that a response has a body without an end.
    pub(super) fn begin_endless_body(&self) {
        self.state.lock().has_endless_body = true;
    }

    /// Whether no request is in progress after one that had a body without an end.
    fn is_behind_endless_body(&self) -> bool {
        let state = self.state.lock();
        state.n_requests == 0 && state.has_endless_body
    }

    /// Records that part of a response was sent.
    pub(super) fn touch(&self) {
        self.state.lock().since = Instant::now();
    }

    /// Start of the idle time; `None` while a request is in progress.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let state = self.state.lock();
        (state.n_requests == 0 && !state.blocked).then_some(state.since)
    }

    /// Start of the time in which the connection is idle or only waits for the client's bodies: a client that sends a
    /// byte per second has no better claim than a silent one.
    fn waiting_since(&self) -> Option<Instant> {
        let state = self.state.lock();
        (state.n_requests == state.n_awaiting_body && !state.blocked).then_some(state.since)
    }

    /// Whether the connection can end now. An evicted one can, also while it waits for its client.
    pub(super) fn may_close(&self) -> bool {
        if self.is_evicted() {
            self.waiting_since().is_some() || self.is_behind_endless_body()
        } else {
            self.idle_since().is_some()
        }
    }

    /// Records that a request waits for its body, until the guard is dropped.
    pub(super) fn await_body(self: &Arc<Self>) -> BodyWait {
        let mut state = self.state.lock();
        state.n_awaiting_body += 1;
        state.since = Instant::now();
        BodyWait(Arc::clone(self))
    }

    /// Asks the connection's task to close it.
    pub(super) fn close(&self) {
        self.closing.cancel();
    }

    /// Asks the task to close the connection without a graceful goodbye.
    fn evict(&self) {
        self.evicted.store(true, Ordering::Release);
        self.close();
    }

    /// Whether the connection is to be closed without a graceful goodbye.
    pub(super) fn is_evicted(&self) -> bool {
        self.evicted.load(Ordering::Acquire)
    }

    /// Returns when the connection is to be closed.
    pub(super) async fn closing(&self) {
        self.closing.cancelled().await;
    }
}

/// A request that waits for its body, until this is dropped.
pub(super) struct BodyWait(Arc<Activity>);

impl Drop for BodyWait {
    fn drop(&mut self) {
        self.0.state.lock().n_awaiting_body -= 1;
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.n_requests -= 1;
        state.since = Instant::now();
    }
}

#[cfg(test)]
mod tests;
