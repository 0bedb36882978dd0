//! The store without a server: the same creations, gathered as it does, or in a transaction each.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gatehouse_core::credential::StoredHash;
use gatehouse_core::{AccessId, TenantName};
use gatehouse_store::{Clock, NewAccess, Store, StoreError};
use tokio::runtime::Runtime;
use tokio::sync::Mutex;

use crate::failure::Failure;
use crate::fleet::{CONTRACTS, TENANT};

/// As long as what the server keeps of a password that it has drawn.
const HASH: &str = "h1$0123456789abcdef$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// What usernames are drawn from.
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// How accesses are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// As the product does it: those that wait are made together.
    Gathered,
    /// Each in a transaction of its own, over all connections that there are.
    Alone,
    /// Each in a transaction of its own, when the one before is done.
    InTurn,
}

/// Makes accesses in a store that is open.
pub(crate) struct Driver<'a> {
    runtime: &'a Runtime,
    store: Store,
    tenant: TenantName,
    drawn: Arc<AtomicU64>,
    turn: Arc<Mutex<()>>,
}

impl<'a> Driver<'a> {
    /// Opens the PostgreSQL store at this address.
    pub(crate) fn open_postgres(runtime: &'a Runtime, url: &str) -> Result<Self, Failure> {
        let url = url.parse().map_err(|why| trouble(format!("{why}")))?;
        let store = runtime.block_on(Store::open_postgres(&url, Clock::machine()));
        Self::new(runtime, store)
    }

    /// Opens the embedded store in this file.
    pub(crate) fn open_sqlite(runtime: &'a Runtime, path: &Path) -> Result<Self, Failure> {
        let store = runtime.block_on(Store::open_sqlite(path, Clock::machine()));
        Self::new(runtime, store)
    }

    fn new(runtime: &'a Runtime, store: Result<Store, StoreError>) -> Result<Self, Failure> {
        let store = store.map_err(|why| trouble(why.explained()))?;
        let tenant = TENANT.parse().map_err(|_| trouble(format!("no tenant `{TENANT}`")))?;
        Ok(Self { runtime, store, tenant, drawn: Arc::default(), turn: Arc::default() })
    }

    /// Lets go of it.
    pub(crate) fn close(self) {
        self.runtime.block_on(self.store.close());
    }

    /// Has so many make accesses one after the other for so long; tells how long that was, and how long each
    /// of them waited for each.
    pub(crate) fn make(
        &self,
        n_clients: usize,
        stretch: Duration,
        way: Way,
    ) -> Result<(Duration, Vec<Vec<Duration>>), Failure> {
        self.runtime.block_on(async {
            let is_over = Arc::new(AtomicBool::new(false));
            let begun = Instant::now();
            let clients: Vec<_> = (0..n_clients)
                .map(|_| tokio::spawn(self.client(way, Arc::clone(&is_over))))
                .collect();
            tokio::time::sleep(stretch).await;
            let seen = begun.elapsed();
            is_over.store(true, Ordering::Relaxed);
            let mut waits = Vec::new();
            for client in clients {
                let made = client.await.map_err(|_| "a client panicked".to_owned());
                waits.push(made.flatten().map_err(Failure::Trouble)?);
            }
            Ok((seen, waits))
        })
    }

    /// Makes accesses until it is over.
    fn client(
        &self,
        way: Way,
        is_over: Arc<AtomicBool>,
    ) -> impl Future<Output = Result<Vec<Duration>, String>> + Send + 'static {
        let (store, tenant) = (self.store.clone(), self.tenant.clone());
        let (drawn, turn) = (Arc::clone(&self.drawn), Arc::clone(&self.turn));
        async move {
            let mut waits = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                let new = draw(drawn.fetch_add(1, Ordering::Relaxed))?;
                let begun = Instant::now();
                let made = match way {
                    Way::Gathered => store.create_access(&tenant, new).await,
                    Way::Alone => {
                        let made = store.create_accesses(&tenant, vec![new]).await;
                        made.map(|mut made| made.remove(0))
                    }
                    Way::InTurn => {
                        let _turn = turn.lock().await;
                        store.create_access(&tenant, new).await
                    }
                };
                let made = made.map_err(|why| why.explained())?;
                made.map_err(|why| format!("an access was not made: {why:?}"))?;
                waits.push(begun.elapsed());
            }
            Ok(waits)
        }
    }
}

fn trouble(what: String) -> Failure {
    Failure::Trouble(format!("opening the store: {what}"))
}

/// The n-th access: by a number that goes all over the place, as what is drawn does.
fn draw(n: u64) -> Result<NewAccess, String> {
    let started = crate::stage::now().unsigned_abs();
    let mixed = u128::from(mix(started ^ n)) << 64 | u128::from(mix(!n));
    let letter = |nth: u32| char::from(LETTERS[(mixed >> (5 * nth)) as usize % LETTERS.len()]);
    let username: String = "u-".chars().chain((0..16).map(letter)).collect();
    let mut random = [0; 10];
    random.copy_from_slice(&mixed.to_be_bytes()[..10]);
    Ok(NewAccess {
        id: AccessId::new(started, &random),
        contract_id: CONTRACTS[1].parse().map_err(|_| "no such contract".to_owned())?,
        is_drawn: false,
        username: username.parse().map_err(|_| format!("`{username}` is no username"))?,
        password: StoredHash::new(HASH.to_owned()),
        device_name: None,
        created_by: None,
        once: None,
    })
}

/// Spreads numbers over all there are (SplitMix64).
fn mix(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn what_is_drawn_is_well_formed_and_never_the_same() {
        let drawn: Vec<_> = (0..10_000).map(|n| draw(n).unwrap()).collect();
        let names: HashSet<_> = drawn.iter().map(|it| it.username.as_str().to_owned()).collect();
        assert_eq!(names.len(), drawn.len());
        assert!(names.iter().all(|name| name.len() == 18));
    }
}
