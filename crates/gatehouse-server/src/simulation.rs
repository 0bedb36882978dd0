//! A simulation of everything that is concurrent above the store.
//!
//! Several servers run their work loops over one database in memory, on one thread, with time that passes only when all of them wait.
//! Every call to the database takes some time, may fail, may be the last thing that its server does, or may come long after the server
//! was given up. All of that follows from a seed, so a seed that fails fails again.
//!
//! `world` is what all have in common, `plan` what a seed has in store; `network` is how a server reaches the database, `server` the
//! server itself, `fleet` all of them as clients see them, `trouble` who comes and goes. Clients are those of the end-to-end tests
//! (`gatehouse_testing::history`), and `quota`, `passing` and `rates`. The `journal` tells what each transaction changed, the `model` says whether
//! that may be; in the end the whole history is judged, with what is `settled` by then.

mod fleet;
mod journal;
mod limits;
mod model;
mod network;
mod passing;
mod plan;
mod quota;
mod rates;
mod server;
mod settled;
mod trouble;
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

/// What the clients of the end-to-end tests ask for here.
const SCALE: Scale = Scale {
    n_clients: 3,
    pace: Duration::from_millis(150),
    n_more_batches: 8,
    n_items_max: 100,
    n_kept: 2,
};

/// Within this time after the last trouble all work is done: a dead server's sweep is taken up after a minute.
const DRAINED_WITHIN: Duration = Duration::from_secs(90);

/// After this time everything that was kept has had its time.
const LONG_AFTER: Duration = Duration::from_secs(25 * 3600);

/// How one seed went.
struct Ran {
    faults: Vec<String>,
    course: (u64, u64),
    figures: Figures,
}

/// Runs one seed.
fn run(seed: u64, is_told: bool) -> Ran {
    let _simulation = Simulation::begin(seed);
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let world = Arc::new(World::new(seed, is_told));
        live(&world).await;
        let mut model = world.model();
        Ran {
            faults: std::mem::take(&mut model.faults),
            course: world.course(),
            figures: std::mem::take(&mut model.figures),
        }
    })
}

/// Everything that happens in one world.
async fn live(world: &Arc<World>) {
    world.tell(|| format!("{:?}", world.plan));
    let direct = Arc::new(Direct);
    let store = Store::open_in_memory(&world.database, direct, world.clock.clone()).await.unwrap();
    quota::found(&store, world).await;
    world.database.with(journal::begin);
    let fleet = Arc::new(Fleet::new(world));
    for _ in 0..world.plan.n_servers {
        fleet.join().await;
    }

    world.disturb(true);
    let trouble = tokio::spawn(trouble::make(Arc::clone(world), Arc::clone(&fleet)));
    let mut dice = SeededRandom(world.dice().roll(u64::from(u32::MAX)));
    let time = Duration::from_millis(world.plan.load_milliseconds);
    let quota = QuotaClient::new(Arc::clone(&fleet), SeededRandom(dice.roll(1 << 30)));
    let quota = tokio::spawn(quota.ask_for(Arc::clone(world), time));
    let rates = RateClient::new(world, &fleet, SeededRandom(dice.roll(1 << 30)));
    let rates = tokio::spawn(rates.ask_for(time));
    let passing = tokio::spawn(passing::come_and_go(Arc::clone(world), Arc::clone(&fleet), time));
    let load = Load::begin(&fleet, &mut dice, SCALE).await;
    sleep(time).await;
    world.disturb(false);
    load.end().await;
    quota.await.unwrap();
    rates.await.unwrap();
    passing.await.unwrap();
    trouble.await.unwrap();

    world.tell(|| "the trouble is over".to_owned());
    let rates = RateClient::new(world, &fleet, dice.clone());
    let rates = tokio::spawn(rates.ask_for(Duration::from_millis(world.plan.calm_milliseconds)));
    fleet.finish().await;
    drain(world).await;
    let settled = read_settled(&fleet).await;
    let faults = judge(&fleet.history(), &settled);
    world.model().faults.extend(faults);
    audit(world, &store).await;
    rates.await.unwrap();

    // Nobody does anything for a day: whoever goes on then has only leases that are long over.
    for number in fleet.running() {
        fleet.server(number).wire.stop(LONG_AFTER);
    }
    sleep(LONG_AFTER).await;
    drain(world).await;
    audit(world, &store).await;
    nothing_is_left(world);
}

/// Waits until there is nothing to do.
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
        if began.elapsed() > DRAINED_WITHIN {
            let rows = rows(
                world,
                "SELECT tenant || ' ' || kind || ' ' || name || ' ' || part || ' ' || due_at FROM due",
            );
            world.model().fault(format!(
                "work is not done in time: {n_due} due, {n_leased} leased, {n_open} open Tasks; it is {now}: {rows:?}"
            ));
            return;
        }
        sleep(Duration::from_millis(200)).await;
    }
}

/// Compares all figures with the rows.
async fn audit(world: &World, store: &Store) {
    for tenant in TENANTS.into_iter().chain([QUOTA_TENANT]) {
        let tenant: TenantName = tenant.parse().unwrap();
        let audit = store.audit(&tenant).await.unwrap();
        let faults = audit.discrepancies.into_iter().map(|it| format!("{tenant}: {it}"));
        world.model().faults.extend(faults);
    }
}

/// After their time, nothing is left of Tasks, their keys and kept answers; and what has ended is written down.
fn nothing_is_left(world: &World) {
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
            world.model().fault(format!("{n} are left: {what}"));
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
