//! The store without a server: the same creations, grouped or in a transaction each.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gatehouse_core::credential::StoredHash;
use gatehouse_core::event::{Cause, Origin};
use gatehouse_core::{AccessId, Labels, TenantName};
use gatehouse_store::{Clock, NewAccess, Store, StoreError};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

use crate::failure::Failure;
use crate::fleet::{CONTRACTS, TENANT};

/// As long as the hash of a generated password.
const HASH: &str = "h1$0123456789abcdef$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Concurrent transactions, where each creation has its own.
const POOL: usize = 16;

/// Stores of such a pool: one alone has fewer connections for writes.
const N_STORES: usize = 2;

/// How accesses are created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransactionMode {
    /// Grouped, as the server does: waiting creations share a transaction.
    Gathered,
    /// A transaction each, as many at the same time as the database allows.
    Concurrent,
    /// A transaction each, one after the other.
    Sequential,
}

/// Creates accesses in an open store.
pub(crate) struct Driver<'a> {
    runtime: &'a Runtime,
    stores: Vec<Store>,
    tenant: TenantName,
    pool: Arc<Semaphore>,
    sequence: Arc<Semaphore>,
}

impl<'a> Driver<'a> {
    /// Opens the PostgreSQL store at this URL.
    pub(crate) fn open_postgres(runtime: &'a Runtime, url: &str) -> Result<Self, Failure> {
        let url = url.parse().map_err(|why| open_failed(format!("{why}")))?;
        let open = || runtime.block_on(Store::open_postgres(&url, Clock::machine()));
        Self::new(runtime, (0..N_STORES).map(|_| open()))
    }

    /// Opens the SQLite store in this file.
    pub(crate) fn open_sqlite(runtime: &'a Runtime, path: &Path) -> Result<Self, Failure> {
        let store = runtime.block_on(Store::open_sqlite(path, Clock::machine()));
        Self::new(runtime, [store].into_iter())
    }

    fn new(
        runtime: &'a Runtime,
        stores: impl Iterator<Item = Result<Store, StoreError>>,
    ) -> Result<Self, Failure> {
        let stores = stores.collect::<Result<Vec<_>, _>>();
        let stores = stores.map_err(|why| open_failed(why.explained()))?;
        let tenant = TENANT.parse().map_err(|_| open_failed(format!("no tenant `{TENANT}`")))?;
        let [pool, sequence] = [POOL, 1].map(|n| Arc::new(Semaphore::new(n)));
        Ok(Self { runtime, stores, tenant, pool, sequence })
    }

    pub(crate) fn close(self) {
        for store in &self.stores {
            self.runtime.block_on(store.close());
        }
    }

    /// Runs clients that create accesses for a period. Returns the duration, and each client's latencies.
    pub(crate) fn make(
        &self,
        n_clients: usize,
        period: Duration,
        mode: TransactionMode,
    ) -> Result<(Duration, Vec<Vec<Duration>>), Failure> {
        self.runtime.block_on(async {
            let is_over = Arc::new(AtomicBool::new(false));
            let begun = Instant::now();
            let clients: Vec<_> = (0..n_clients)
                .map(|nth| tokio::spawn(self.client(nth, mode, Arc::clone(&is_over))))
                .collect();
            tokio::time::sleep(period).await;
            let seen = begun.elapsed();
            is_over.store(true, Ordering::Relaxed);
            let mut latencies = Vec::new();
            for client in clients {
                let made = client.await.map_err(|_| "a client panicked".to_owned());
                latencies.push(made.flatten().map_err(Failure::Step)?);
            }
            Ok((seen, latencies))
        })
    }

    /// Creates accesses until the period has ended.
    fn client(
        &self,
        nth: usize,
        mode: TransactionMode,
        is_over: Arc<AtomicBool>,
    ) -> impl Future<Output = Result<Vec<Duration>, String>> + Send + 'static {
        // One store groups; the others only lend their connections.
        let store = match mode {
            TransactionMode::Concurrent => self.stores[nth % self.stores.len()].clone(),
            TransactionMode::Gathered | TransactionMode::Sequential => self.stores[0].clone(),
        };
        let tenant = self.tenant.clone();
        let permits = match mode {
            TransactionMode::Gathered => None,
            TransactionMode::Concurrent => Some(Arc::clone(&self.pool)),
            TransactionMode::Sequential => Some(Arc::clone(&self.sequence)),
        };
        async move {
            let mut latencies = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                let new = draw()?;
                let begun = Instant::now();
                let _permit = match &permits {
                    Some(permits) => {
                        Some(permits.acquire().await.map_err(|closed| closed.to_string())?)
                    }
                    None => None,
                };
                let made = match mode {
                    TransactionMode::Gathered => store.create_access(&tenant, new).await,
                    TransactionMode::Concurrent | TransactionMode::Sequential => {
                        let made = store.create_accesses(&tenant, vec![new]).await;
                        made.map(|mut made| made.remove(0))
                    }
                };
                let made = made.map_err(|why| why.explained())?;
                made.map_err(|why| format!("an access was not made: {why:?}"))?;
                latencies.push(begun.elapsed());
            }
            Ok(latencies)
        }
    }
}

fn open_failed(what: String) -> Failure {
    Failure::Step(format!("opening the store: {what}"))
}

/// A new access with drawn values, as the server draws them.
fn draw() -> Result<NewAccess, String> {
    let now = crate::fixture::now().unsigned_abs();
    Ok(NewAccess {
        id: AccessId::new(now, &gatehouse_vault::random::bytes()),
        contract_id: CONTRACTS[1].parse().map_err(|_| "no such contract".to_owned())?,
        is_drawn: false,
        username: gatehouse_vault::generate_username(),
        password: StoredHash::new(HASH.to_owned()),
        device_name: None,
        labels: Labels::NONE,
        created_by: None,
        idempotent: None,
        origin: Origin::of(Cause::Server),
    })
}
