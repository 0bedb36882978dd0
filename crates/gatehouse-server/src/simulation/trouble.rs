//! What happens beside what happens at calls: servers join and leave in order, the database is out of reach, every tenant sends a
//! batch at the same time.

use std::sync::Arc;

use futures_util::future::join_all;
use gatehouse_testing::SeededRandom;
use gatehouse_testing::history::call::{Items, Request};
use gatehouse_testing::history::{Replicas, TENANTS};
use tokio::time::sleep;

use super::fleet::Fleet;
use super::world::World;

/// Servers that run at the same time, at most.
const N_SERVERS_MAX: usize = 4;

/// Makes trouble as long as the world is disturbed.
pub(super) async fn make(world: Arc<World>, fleet: Arc<Fleet>) {
    let mut bursts = Vec::new();
    while world.is_disturbed() {
        sleep(world.some_time(300, 3000)).await;
        let n_running = fleet.running().len();
        let is_wanted = n_running < world.plan.n_servers as usize || world.strikes(world.plan.join);
        if is_wanted && n_running < N_SERVERS_MAX {
            fleet.join().await;
        }
        if world.strikes(world.plan.leave) {
            let running = fleet.running();
            let number = *world.dice().pick(&running);
            if world.model().leaves(number) {
                world.tell(|| format!("server {number} leaves"));
                let server = fleet.server(number);
                tokio::spawn(async move { server.leave().await });
            }
        }
        if world.strikes(world.plan.burst) {
            let burst = burst(Arc::clone(&world), Arc::clone(&fleet), bursts.len());
            bursts.push(tokio::spawn(burst));
        }
        if world.strikes(world.plan.outage) {
            world.begin_outage(world.some_time(300, 8000));
        }
    }
    for burst in bursts {
        burst.await.unwrap();
    }
}

/// Has every tenant send a batch, so that tenants wait for one another and workers change.
async fn burst(world: Arc<World>, fleet: Arc<Fleet>, number: usize) {
    let ask = async |tenant| {
        let mut dice = SeededRandom(world.dice().roll(1 << 30));
        let name = format!("burst-{number}-{tenant}");
        let items = Items::Number(40 + dice.roll(60));
        let request = Request::Batch { key: Some(format!("key-{name}")), name, items };
        fleet.insist(&mut dice, tenant, &request).await;
    };
    join_all((0..TENANTS.len()).map(ask)).await;
}
