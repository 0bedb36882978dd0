//! A tenant that is made, used and deleted again and again, under one name, while its batches are worked on.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::{Tenant, TenantName};
use gatehouse_testing::SeededRandom;
use gatehouse_testing::history::Replicas;
use tokio::time::{Instant, sleep};

use super::fleet::Fleet;
use super::quota::contract;
use super::world::World;
use crate::app::batch::{BatchChange, BatchOperation, NamedAccess, NewBatch, NewItems};
use crate::app::{App, Error};

/// Its name.
const PASSING: &str = "passing";

/// Makes, uses and deletes the tenant for so long.
pub(super) async fn come_and_go(world: Arc<World>, fleet: Arc<Fleet>, time: Duration) {
    let mut dice = SeededRandom(world.dice().roll(1 << 30));
    let until = Instant::now() + time;
    while Instant::now() < until {
        sleep(Duration::from_millis(100 + dice.roll(900))).await;
        let replica = fleet.anyone(&mut dice).await;
        let server = fleet.server(replica);
        let asked = tokio::select! {
            biased;
            () = server.wire.died.cancelled() => continue,
            asked = ask(&server.app, &mut dice) => asked,
        };
        match asked {
            // It isn't there, or has accesses by now, or there is no contract.
            Ok(())
            | Err(
                Error::NoTenant(_)
                | Error::InUse { .. }
                | Error::UnknownContract(_)
                | Error::Storage(_),
            ) => {}
            Err(other) => world.model().fault(format!("nobody should hear {other:?}")),
        }
    }
}

async fn ask(app: &App, dice: &mut SeededRandom) -> Result<(), Error> {
    let name: TenantName = PASSING.parse().unwrap();
    match dice.roll(5) {
        0 => app.delete_tenant(&name).await,
        1 => {
            let tenant = Tenant::new(name.clone(), "Europe/Berlin".parse().unwrap());
            app.put_tenant(&tenant).await.map(drop)
        }
        // Without a contract it is rejected, so that the tenant stays one without accesses for a while.
        2 => {
            let contract_id = if dice.roll(6) == 0 { "payg" } else { "none" }.parse().unwrap();
            let batch = NewBatch { contract_id, items: NewItems::Count(3) };
            app.accept_batch(&name, batch, None, "simulated").await.map(drop)
        }
        3 => {
            let named = NamedAccess { index: 0, id: Err("nothing".into()) };
            let change = BatchChange { ids: vec![named], operation: BatchOperation::Terminate };
            app.accept_change(&name, change, None, "simulated").await.map(drop)
        }
        _ => app.put_contract(&name, &contract("payg")).await.map(drop),
    }
}
