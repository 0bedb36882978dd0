//! A simulation of all concurrency above the store.
//!
//! Several servers run their work loops over one in-memory database, on one thread, with a clock that advances only
//! when all of them wait. Every call to the database takes time, may fail, may be the last of its server, or may arrive
//! long after the server was given up. All of it follows from a seed, so a failing seed fails again.
//!
//! `world` is the shared state, `plan` a seed's parameters, `network` a server's link to the database, `server` a
//! server, `fleet` all servers as clients see them, `disturbances` joins, departures and outages. Clients are those of
//! the end-to-end tests (`gatehouse_testing::history`), `quota`, `short_lived_tenant` and `rates`. The `model` checks
//! each transaction's changes in the `journal`; at the end the whole history is judged, with the `settled` state.

mod disturbances;
mod fleet;
mod limits;
mod model;
mod network;
mod plan;
mod quota;
mod rates;
mod server;
mod settled;
mod short_lived_tenant;
mod table_history;
mod world;

use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::TenantName;
use gatehouse_store::Store;
use gatehouse_testing::SeededRandom;
use gatehouse_testing::history::{Load, Replicas, Scale, TENANTS, judge};
use gatehouse_vault::simulation::Simulation;
use tokio::time::{Instant, sleep};

use fleet::Fleet;
use model::Figures;
use network::Direct;
use quota::{QUOTA_TENANT, QuotaClient};
use rates::RateClient;
use settled::read_settled;
use world::World;

/// Load of the end-to-end tests' clients.
const SCALE: Scale = Scale {
    n_clients: 3,
    pace: Duration::from_millis(150),
    n_more_batches: 8,
    n_items_max: 100,
    n_kept: 2,
};

/// Time limit for all work after the last disturbance: a dead server's lease expires after a minute.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(90);

/// After this time all retention times are over.
const LONG_AFTER: Duration = Duration::from_secs(25 * 3600);

/// Result of a seed.
struct RunResult {
    faults: Vec<String>,
    log_digest: (u64, u64),
    figures: Figures,
}

/// Runs one seed.
fn run(seed: u64, is_verbose: bool) -> RunResult {
    let _simulation = Simulation::begin(seed);
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let world = Arc::new(World::new(seed, is_verbose));
        simulate(&world).await;
        let mut model = world.model();
        RunResult {
            faults: std::mem::take(&mut model.faults),
            log_digest: world.log_digest(),
            figures: std::mem::take(&mut model.figures),
        }
    })
}

/// Runs the simulation in one world.
async fn simulate(world: &Arc<World>) {
    world.log(|| format!("{:?}", world.plan));
    let direct = Arc::new(Direct);
    let store = Store::open_in_memory(&world.database, direct, world.clock.clone()).await.unwrap();
    quota::create_tenants(&store, world).await;
    world.database.with(table_history::begin);
    let fleet = Arc::new(Fleet::new(world));
    for _ in 0..world.plan.n_servers {
        fleet.join().await;
    }

    world.set_disturbed(true);
    let disturbances = tokio::spawn(disturbances::run(Arc::clone(world), Arc::clone(&fleet)));
    let mut random = SeededRandom(world.random().roll(u64::from(u32::MAX)));
    let time = Duration::from_millis(world.plan.load_milliseconds);
    let quota = QuotaClient::new(Arc::clone(&fleet), SeededRandom(random.roll(1 << 30)));
    let quota = tokio::spawn(quota.run_for(Arc::clone(world), time));
    let rates = RateClient::new(world, &fleet, SeededRandom(random.roll(1 << 30)));
    let rates = tokio::spawn(rates.run_for(time));
    let short_lived =
        tokio::spawn(short_lived_tenant::run(Arc::clone(world), Arc::clone(&fleet), time));
    let load = Load::begin(&fleet, &mut random, SCALE).await;
    sleep(time).await;
    world.set_disturbed(false);
    load.end().await;
    quota.await.unwrap();
    rates.await.unwrap();
    short_lived.await.unwrap();
    disturbances.await.unwrap();

    world.log(|| "the disturbances are over".to_owned());
    let rates = RateClient::new(world, &fleet, random.clone());
    let rates = tokio::spawn(rates.run_for(Duration::from_millis(world.plan.calm_milliseconds)));
    fleet.finish().await;
    drain(world).await;
    let settled = read_settled(&fleet).await;
    let faults = judge(&fleet.history(), &settled);
    world.model().faults.extend(faults);
    recount(world, &store).await;
    rates.await.unwrap();

    // All servers stop for a day: those that continue hold only expired leases.
    for number in fleet.running() {
        fleet.server(number).link.stop(LONG_AFTER);
    }
    sleep(LONG_AFTER).await;
    drain(world).await;
    recount(world, &store).await;
    check_all_deleted(world);
}

/// Waits until no work is due.
async fn drain(world: &World) {
    let began = Instant::now();
    loop {
        let now = world.now().as_millisecond();
        let n_due = count(world, &format!("SELECT COUNT(*) FROM due WHERE due_at <= {now}"));
        let n_leased = count(world, "SELECT COUNT(*) FROM due WHERE is_leased = 1");
        let n_open = world.model().n_open_tasks();
        if (n_due, n_leased, n_open) == (0, 0, 0) {
            return;
        }
        if began.elapsed() > DRAIN_TIMEOUT {
            let rows = rows(
                world,
                "SELECT tenant || ' ' || kind || ' ' || name || ' ' || part || ' ' || due_at FROM due",
            );
            world.model().fault(format!(
                "work is not finished in time: {n_due} due, {n_leased} leased, {n_open} open Tasks; it is {now}: {rows:?}"
            ));
            return;
        }
        sleep(Duration::from_millis(200)).await;
    }
}

/// Compares all derived counts with the rows.
async fn recount(world: &World, store: &Store) {
    for tenant in TENANTS.into_iter().chain([QUOTA_TENANT]) {
        let tenant: TenantName = tenant.parse().unwrap();
        let recount = store.recount(&tenant).await.unwrap();
        let faults = recount.discrepancies.into_iter().map(|it| format!("{tenant}: {it}"));
        world.model().faults.extend(faults);
    }
}

/// Checks that expired Tasks, keys and responses are deleted, and that expiries are stored.
fn check_all_deleted(world: &World) {
    let now = world.now().as_millisecond();
    for what in [
        "task".to_owned(),
        "task_part".to_owned(),
        "task_failure".to_owned(),
        "secret".to_owned(),
        "request".to_owned(),
        format!("access WHERE status <> 'TERMINATED' AND end_at <= {now}"),
    ] {
        let n = count(world, &format!("SELECT COUNT(*) FROM {what}"));
        if n > 0 {
            world.model().fault(format!("{n} rows remain: {what}"));
        }
    }
}

fn count(world: &World, sql: &str) -> i64 {
    world.database.with(|it| it.query_row(sql, [], |row| row.get(0)).unwrap())
}

fn rows(world: &World, sql: &str) -> Vec<String> {
    world.database.with(|it| {
        let mut statement = it.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    })
}

#[cfg(test)]
mod tests;
