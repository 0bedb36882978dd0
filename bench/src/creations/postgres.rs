//! Case 8: creations on PostgreSQL, grouped, with a transaction each, and on several servers.
//!
//! A tenant's creations lock its counter one after the other, so a server groups the waiting ones in one transaction
//! (`gather.rs` of the store). The gain is measured without a server, since only the store can run without groups: the
//! same statements, in a transaction each. Several servers, each with its own groups, are measured over HTTP. All modes
//! alternate on one database.

use std::path::Path;
use std::time::Duration;

use super::driven::{Driver, Way};
use super::gathered::Gathered;
use super::{N_CLIENTS, WARM_UP, stretch};
use crate::batches::batch::Caller;
use crate::batches::load;
use crate::cpu::CpuReading;
use crate::database::Database;
use crate::failure::Failure;
use crate::filled;
use crate::line::Line;
use crate::quantiles::Waits;
use crate::server::{Place, Server};
use crate::stage::Workshop;

/// Servers, where there are several.
const N_SERVERS: usize = 3;

/// Grouping must bring one and a half times as many creations, for half of the database's CPU per creation.
const GOAL_GATHERED: f64 = 1.5;
const GOAL_DATABASE: f64 = 0.5;

/// Three servers must reach three quarters of one server's rate: they wait for each other's transactions.
const GOAL_SEVERAL: f64 = 0.75;

/// Result of one mode in one round.
#[derive(Clone, Copy, Debug)]
struct Turn {
    waits: Waits,
    /// CPU of the database's processes per creation.
    database_us: f64,
    /// CPU of the servers per creation.
    servers_us: f64,
    /// Creations per transaction, by the servers' metrics.
    per_transaction: f64,
}

/// Number of modes.
const N_WAYS: usize = 5;

/// Results of all modes in one round.
#[derive(Clone, Copy, Debug)]
struct Round {
    gathered: Turn,
    alone: Turn,
    in_turn: Turn,
    one: Turn,
    several: Turn,
}

/// Measures everything.
pub(crate) fn measure(
    workshop: &Workshop,
    database: &Database,
    n_rounds: usize,
) -> Result<Vec<Line>, Failure> {
    let Database::Postgres { runtime, cluster, .. } = database else { return Ok(Vec::new()) };
    let filled = workshop.fill(database, workshop.options.usual_rows())?;
    let place = filled::copy(workshop, database, &filled, "creations")?.place;
    let servers = serve(&place, &workshop.shelf)?;
    let token = place.issue_token("access:write")?;
    let figures = Gathered { token: place.issue_token_for("*", "admin")? };
    let url = place.database_url.as_deref().unwrap_or_default();
    let driver = Driver::open_postgres(runtime, url)?;
    let family = cluster.process_id;
    let turn = |who: usize, stretch| match who {
        0 => drive(&driver, Way::Gathered, stretch, family),
        1 => drive(&driver, Way::Alone, stretch, family),
        2 => drive(&driver, Way::InTurn, stretch, family),
        3 => ask(&servers[..1], &token, &figures, stretch, family),
        _ => ask(&servers, &token, &figures, stretch, family),
    };

    for who in 0..N_WAYS {
        turn(who, WARM_UP)?;
    }
    let mut rounds = Vec::new();
    for round in 0..n_rounds {
        eprintln!("bench: {N_CLIENTS} clients on PostgreSQL, round {} of {n_rounds}", round + 1);
        // The order changes, because the first finds the disk as the others left it.
        let mut turns = [None; N_WAYS];
        for nth in 0..N_WAYS {
            let who = (nth + round) % N_WAYS;
            turns[who] = Some(turn(who, stretch(&workshop.options))?);
        }
        let [Some(gathered), Some(alone), Some(in_turn), Some(one), Some(several)] = turns else {
            continue;
        };
        let round = Round { gathered, alone, in_turn, one, several };
        rounds.push(round);
    }
    driver.close();
    for server in servers {
        server.stop()?;
    }
    Ok(lines(&rounds))
}

fn lines(rounds: &[Round]) -> Vec<Line> {
    let line = |what: &str, unit, figures: fn(&Round) -> (f64, f64)| {
        Line::new(what, unit, rounds.iter().map(figures).collect())
    };
    let waits = |of: fn(&Round) -> Waits| Waits::median(rounds.iter().map(of));
    #[rustfmt::skip]
    let lines = vec![
        line("store: gathered, beside a transaction each, 16 at a time", "1/s",
            |it| (it.gathered.waits.per_second, it.alone.waits.per_second))
            .at_least(GOAL_GATHERED).with_waits(waits(|it| it.gathered.waits)),
        line("store: gathered, beside a transaction each, one after the other", "1/s",
            |it| (it.gathered.waits.per_second, it.in_turn.waits.per_second)).at_least(GOAL_GATHERED),
        line("store: the database's CPU for one gathered, beside a transaction each", "µs",
            |it| (it.gathered.database_us, it.alone.database_us)).cpu().at_most(GOAL_DATABASE),
        line("store: the database's CPU for one gathered, beside one after the other", "µs",
            |it| (it.gathered.database_us, it.in_turn.database_us)).cpu().at_most(GOAL_DATABASE),
        line("HTTP: three servers, beside one", "1/s",
            |it| (it.several.waits.per_second, it.one.waits.per_second))
            .at_least(GOAL_SEVERAL).with_waits(waits(|it| it.several.waits)),
        line("HTTP: creations in a transaction with three servers, beside one server", "",
            |it| (it.several.per_transaction, it.one.per_transaction)),
        line("HTTP: the database's CPU for one with three servers, beside one server", "µs",
            |it| (it.several.database_us, it.one.database_us)).cpu(),
        line("HTTP: the servers' CPU for one with three servers, beside one server", "µs",
            |it| (it.several.servers_us, it.one.servers_us)).cpu(),
        line("HTTP: p99 of one server, beside its p50", "µs",
            |it| (it.one.waits.p99_us, it.one.waits.p50_us)).with_waits(waits(|it| it.one.waits)),
    ];
    lines
}

/// Starts the servers, each with its own log.
fn serve(place: &Place, shelf: &Path) -> Result<Vec<Server>, Failure> {
    let nth = |n: usize| {
        let directory = shelf.join(format!("creations-{n}"));
        std::fs::create_dir_all(&directory)
            .map_err(|cause| Failure::of_path(&directory, &cause))?;
        Place { directory, ..place.clone() }.serve()
    };
    (0..N_SERVERS).map(nth).collect()
}

/// Runs clients against these servers, each client with one server.
fn ask(
    servers: &[Server],
    token: &str,
    figures: &Gathered,
    stretch: Duration,
    family: i32,
) -> Result<Turn, Failure> {
    let caller = Caller { address: String::new(), token: token.to_owned() };
    let request = caller.create_one();
    let asks: Vec<_> = (0..N_CLIENTS)
        .map(|n| load::Asks {
            address: servers[n % servers.len()].address(),
            requests: vec![request.as_slice()],
        })
        .collect();
    let processes: Vec<i32> = servers.iter().map(Server::process_id).collect();
    let before = figures.of(servers)?;
    let work = || {
        let (seen, waits, ()) = load::beside_each(&asks, 201, None, || load::pause(stretch))?;
        Ok((seen, waits))
    };
    let turn = watch(family, &processes, work)?;
    Ok(Turn { per_transaction: figures.of(servers)?.since(before), ..turn })
}

/// Runs clients on the store itself.
fn drive(driver: &Driver<'_>, way: Way, stretch: Duration, family: i32) -> Result<Turn, Failure> {
    let own = std::process::id().cast_signed();
    watch(family, &[own], || driver.make(N_CLIENTS, stretch, way))
}

/// Measures the CPU of the database and of these processes during some work.
fn watch(
    family: i32,
    processes: &[i32],
    work: impl FnOnce() -> Result<(Duration, Vec<Vec<Duration>>), Failure>,
) -> Result<Turn, Failure> {
    let look = || {
        let servers = processes.iter().map(|id| CpuReading::of_process(*id));
        let servers = servers.collect::<std::io::Result<Vec<_>>>()?;
        Ok((CpuReading::of_family(family)?, servers))
    };
    let before = look().map_err(Failure::without_account)?;
    let (seen, waits) = work()?;
    let after = look().map_err(Failure::without_account)?;
    let n_made = waits.iter().map(Vec::len).sum::<usize>() as f64;
    let servers = after.1.iter().zip(&before.1).map(|(after, before)| after.since(before));
    let each = |used: Duration| used.as_secs_f64() * 1e6 / n_made;
    Ok(Turn {
        database_us: each(after.0.since(&before.0)),
        servers_us: each(servers.sum()),
        waits: Waits::of(waits, seen),
        per_transaction: f64::NAN,
    })
}
