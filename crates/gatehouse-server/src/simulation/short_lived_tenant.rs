//! A tenant that is created, used and deleted repeatedly under one name, while its batches are processed.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::{Labels, Tenant, TenantName};
use gatehouse_testing::SeededRandom;
use gatehouse_testing::history::Replicas;
use tokio::time::{Instant, sleep};

use super::fleet::Fleet;
use super::quota::contract;
use super::world::World;
use crate::app::batch::{
    AccessSelection, BatchChange, BatchOperation, NamedAccess, NewBatch, NewItems,
};
use crate::app::requester::testing::ORIGIN;
use crate::app::{App, Error};

/// The tenant's name.
const NAME: &str = "passing";

/// Creates, uses and deletes the tenant for this time.
pub(super) async fn run(world: Arc<World>, fleet: Arc<Fleet>, time: Duration) {
    let mut random = SeededRandom(world.random().roll(1 << 30));
    let until = Instant::now() + time;
    while Instant::now() < until {
        sleep(Duration::from_millis(100 + random.roll(900))).await;
        let replica = fleet.anyone(&mut random).await;
        let server = fleet.server(replica);
        let result = tokio::select! {
            biased;
            () = server.link.died.cancelled() => continue,
            result = act(&server.app, &mut random) => result,
        };
        match result {
            // The tenant doesn't exist or has accesses, or the contract doesn't exist.
            Ok(())
            | Err(
                Error::NoTenant(_)
                | Error::InUse { .. }
                | Error::UnknownContract(_)
                | Error::Storage(_),
            ) => {}
            Err(other) => world.model().fault(format!("unexpected error: {other:?}")),
        }
    }
}

async fn act(app: &App, random: &mut SeededRandom) -> Result<(), Error> {
    let name: TenantName = NAME.parse().unwrap();
    match random.roll(5) {
        0 => app.delete_tenant(&name, &ORIGIN).await,
        1 => {
            let tenant = Tenant::new(name.clone(), "Europe/Berlin".parse().unwrap());
            app.put_tenant(&tenant, &ORIGIN).await.map(drop)
        }
        // Mostly rejected for its contract, so that the tenant stays without accesses for a while.
        2 => {
            let contract_id = if random.roll(6) == 0 { "payg" } else { "none" }.parse().unwrap();
            let batch = NewBatch { contract_id, items: NewItems::Count(3, Labels::NONE) };
            app.accept_batch(&name, batch, None, &ORIGIN).await.map(drop)
        }
        3 => {
            let named = NamedAccess { index: 0, id: Err("nothing".into()) };
            let selection = AccessSelection::Named(vec![named]);
            let change = BatchChange { selection, operation: BatchOperation::Terminate };
            app.accept_change(&name, change, None, &ORIGIN).await.map(drop)
        }
        _ => app.put_contract(&name, &contract("payg"), &ORIGIN).await.map(drop),
    }
}
