//! Disturbances between calls: servers that join and leave, outages of the database, and bursts of batches.

use std::sync::Arc;

use futures_util::future::join_all;
use gatehouse_testing::SeededRandom;
use gatehouse_testing::history::call::{Items, Request};
use gatehouse_testing::history::{Replicas, TENANTS};
use tokio::time::sleep;

use super::fleet::Fleet;
use super::world::World;

/// Most running servers.
const N_SERVERS_MAX: usize = 4;

/// Disturbs the world until [`World::set_disturbed`] ends it.
pub(super) async fn run(world: Arc<World>, fleet: Arc<Fleet>) {
    let mut bursts = Vec::new();
    while world.is_disturbed() {
        sleep(world.random_time(300, 3000)).await;
        let n_running = fleet.running().len();
        let is_wanted = n_running < world.plan.n_servers as usize || world.happens(world.plan.join);
        if is_wanted && n_running < N_SERVERS_MAX {
            fleet.join().await;
        }
        if world.happens(world.plan.leave) {
            let running = fleet.running();
            let number = *world.random().pick(&running);
            if world.model().remove_server(number) {
                world.log(|| format!("server {number} leaves"));
                let server = fleet.server(number);
                tokio::spawn(async move { server.leave().await });
            }
        }
        if world.happens(world.plan.burst) {
            let burst = burst(Arc::clone(&world), Arc::clone(&fleet), bursts.len());
            bursts.push(tokio::spawn(burst));
        }
        if world.happens(world.plan.outage) {
            world.begin_outage(world.random_time(300, 8000));
        }
    }
    for burst in bursts {
        burst.await.unwrap();
    }
}

/// Sends a batch for every tenant, so that tenants wait for each other and workers alternate.
async fn burst(world: Arc<World>, fleet: Arc<Fleet>, number: usize) {
    let send = async |tenant| {
        let mut random = SeededRandom(world.random().roll(1 << 30));
        let name = format!("burst-{number}-{tenant}");
        let items = Items::Number(40 + random.roll(60));
        let request = Request::Batch { key: Some(format!("key-{name}")), name, items };
        fleet.insist(&mut random, tenant, &request).await;
    };
    join_all((0..TENANTS.len()).map(send)).await;
}
