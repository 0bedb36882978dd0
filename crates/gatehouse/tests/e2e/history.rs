//! What many clients asked of many replicas, call by call, and whether the answers fit together.
//!
//! Clients (`client`, `batches`) drive a fleet of replicas, and every call is recorded with the time at which it
//! began and ended (`call`, `fleet`). When the load is over, everything that is there is read (`settled`), and
//! pure functions look for what can't be (`judge`): something lost, something done twice, something stale.
//! Whoever disturbs the fleet meanwhile, by killing replicas or their database, does so elsewhere.

mod batches;
pub(crate) mod call;
mod client;
mod fleet;
mod judge;
mod known;
mod settled;

pub(crate) use fleet::Fleet;
pub(crate) use judge::judge;
pub(crate) use settled::Settled;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gatehouse_testing::Dice;

/// Tenants among whom the load is spread. A dead worker's lease holds up one tenant's batches, so several.
pub(crate) const TENANTS: [&str; 4] = ["t0", "t1", "t2", "t3"];

/// Clients that ask at the same time.
const N_CLIENTS: u64 = 6;

/// The tenants, with a contract each.
pub(crate) fn estate() -> String {
    let contract = "{ id: payg, productOfferingId: po, billingModel: PAY_PER_USE }";
    let tenant = |name| format!("  - name: {name}\n    contracts:\n      - {contract}\n");
    format!("tenants:\n{}", TENANTS.map(tenant).concat())
}

/// A load that is under way.
pub(crate) struct Load {
    clients: Vec<tokio::task::JoinHandle<()>>,
    is_over: Arc<AtomicBool>,
}

impl Load {
    /// Makes the accesses that will be changed and checked, and lets the clients begin.
    pub(crate) async fn begin(fleet: &Arc<Fleet>, dice: &mut Dice) -> Self {
        let known = Arc::new(known::Known::begin(fleet, dice).await);
        let is_over = Arc::new(AtomicBool::new(false));
        let client = |number| {
            let dice = Dice(dice.roll(u64::from(u32::MAX)));
            let client = client::Client::new(number, Arc::clone(fleet), Arc::clone(&known), dice);
            tokio::spawn(client.ask_until(Arc::clone(&is_over)))
        };
        Self { clients: (0..N_CLIENTS).map(client).collect(), is_over }
    }

    /// Tells the clients to end, and waits until each has the last answer that it insists on.
    pub(crate) async fn end(self) {
        self.is_over.store(true, Ordering::Relaxed);
        for client in self.clients {
            client.await.unwrap();
        }
    }
}
