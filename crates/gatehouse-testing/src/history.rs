//! A history: the calls of many clients to many replicas, and whether the responses are consistent.
//!
//! Clients (`client`, `batches`) load [`Replicas`], and every call is recorded with its begin and end (`call`). After
//! the load, the final state is read (`settled`), and pure functions look for contradictions (`judge`): lost writes,
//! writes done twice, stale reads. The caller provides the replicas, as processes or simulated, and injects the
//! failures.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod batches;
pub mod call;
mod client;
mod judge;
mod replicas;
mod settled;
mod shared_state;

pub use judge::judge;
pub use replicas::{PAUSE, Replicas};
pub use settled::{Settled, SettledTask, is_over};

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::SeededRandom;

/// Tenants of the load. A dead worker's lease delays one tenant's batches, so there are several.
pub const TENANTS: [&str; 4] = ["t0", "t1", "t2", "t3"];

/// Setup file with the tenants and a contract each.
pub fn estate() -> String {
    let contract = "{ id: payg, productOfferingId: po, billingModel: PAY_PER_USE }";
    let tenant = |name| format!("  - name: {name}\n    contracts:\n      - {contract}\n");
    format!("tenants:\n{}", TENANTS.map(tenant).concat())
}

/// Size of a load.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Clients that send requests at the same time.
    pub n_clients: u64,
    /// Time between a client's requests.
    pub pace: Duration,
    /// Additional weight of batches: of 32 requests one is a batch, of `32 + n` it is `1 + n`.
    pub n_more_batches: u64,
    /// Items of the largest batch.
    pub n_items_max: u64,
    /// Accesses of each tenant that all clients change and check: few, so that requests conflict.
    pub n_kept: usize,
}

impl Scale {
    /// Load that two cores can run together with three replicas and their database.
    pub const OF_PROCESSES: Self = Self {
        n_clients: 6,
        pace: Duration::from_millis(80),
        n_more_batches: 0,
        n_items_max: 620,
        n_kept: 6,
    };
}

/// A running load.
pub struct Load {
    clients: Vec<tokio::task::JoinHandle<()>>,
    is_over: Arc<AtomicBool>,
}

impl Load {
    /// Creates the tracked accesses, and starts the clients.
    pub async fn begin<R: Replicas>(
        replicas: &Arc<R>,
        random: &mut SeededRandom,
        scale: Scale,
    ) -> Self {
        let shared_state =
            shared_state::SharedState::begin(&**replicas, random, scale.n_kept).await;
        let (shared_state, is_over) = (Arc::new(shared_state), Arc::new(AtomicBool::new(false)));
        let client = |number| {
            let random = SeededRandom(random.roll(u64::from(u32::MAX)));
            let (replicas, shared_state) = (Arc::clone(replicas), Arc::clone(&shared_state));
            let client = client::Client::new(number, scale, replicas, shared_state, random);
            tokio::spawn(client.run_until(Arc::clone(&is_over)))
        };
        Self { clients: (0..scale.n_clients).map(client).collect(), is_over }
    }

    /// Stops the clients, and waits until each has its last response.
    ///
    /// # Panics
    ///
    /// When a client has panicked: a request failed for too long.
    pub async fn end(self) {
        self.is_over.store(true, Ordering::Relaxed);
        for client in self.clients {
            client.await.expect("no client asks in vain");
        }
    }
}
