//! What many clients asked of many replicas, call by call, and whether the answers fit together.
//!
//! Clients (`client`, `batches`) drive [`Replicas`], and every call is recorded with the time at which it began and
//! ended (`call`). When the load is over, everything that is there is read (`settled`), and pure functions look for
//! what can't be (`judge`): something lost, something done twice, something stale. What the replicas are, processes or
//! simulated ones, and what disturbs them meanwhile is the matter of whoever starts the load.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod batches;
pub mod call;
mod client;
mod judge;
mod known;
mod replicas;
mod settled;

pub use judge::judge;
pub use replicas::{PAUSE, Replicas};
pub use settled::{Settled, SettledTask, is_over};

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::SeededRandom;

/// Tenants among whom the load is spread. A dead worker's lease holds up one tenant's batches, so several.
pub const TENANTS: [&str; 4] = ["t0", "t1", "t2", "t3"];

/// The tenants, with a contract each.
pub fn estate() -> String {
    let contract = "{ id: payg, productOfferingId: po, billingModel: PAY_PER_USE }";
    let tenant = |name| format!("  - name: {name}\n    contracts:\n      - {contract}\n");
    format!("tenants:\n{}", TENANTS.map(tenant).concat())
}

/// How much is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Clients that ask at the same time.
    pub n_clients: u64,
    /// How often each of them asks.
    pub pace: Duration,
    /// Of so many requests and 32 more, so many are for batches beside the usual one.
    pub n_more_batches: u64,
    /// Items of the largest batch.
    pub n_items_max: u64,
    /// Accesses of each tenant that are changed and checked: so few that clients meet at them.
    pub n_kept: usize,
}

impl Scale {
    /// What two cores can take that run the clients, three replicas and their database.
    pub const OF_PROCESSES: Self = Self {
        n_clients: 6,
        pace: Duration::from_millis(80),
        n_more_batches: 0,
        n_items_max: 620,
        n_kept: 6,
    };
}

/// A load that is under way.
pub struct Load {
    clients: Vec<tokio::task::JoinHandle<()>>,
    is_over: Arc<AtomicBool>,
}

impl Load {
    /// Makes the accesses that will be changed and checked, and lets the clients begin.
    pub async fn begin<R: Replicas>(
        replicas: &Arc<R>,
        dice: &mut SeededRandom,
        scale: Scale,
    ) -> Self {
        let known = known::Known::begin(&**replicas, dice, scale.n_kept).await;
        let (known, is_over) = (Arc::new(known), Arc::new(AtomicBool::new(false)));
        let client = |number| {
            let dice = SeededRandom(dice.roll(u64::from(u32::MAX)));
            let (replicas, known) = (Arc::clone(replicas), Arc::clone(&known));
            let client = client::Client::new(number, scale, replicas, known, dice);
            tokio::spawn(client.ask_until(Arc::clone(&is_over)))
        };
        Self { clients: (0..scale.n_clients).map(client).collect(), is_over }
    }

    /// Tells the clients to end, and waits until each has the last answer that it insists on.
    ///
    /// # Panics
    ///
    /// When a client has: it asked in vain.
    pub async fn end(self) {
        self.is_over.store(true, Ordering::Relaxed);
        for client in self.clients {
            client.await.expect("no client asks in vain");
        }
    }
}
