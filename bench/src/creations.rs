//! What many clients get that make accesses of one tenant, one by one: together, each alone, and on several
//! servers.
//!
//! A tenant's creations take turns on its counter. On PostgreSQL a server has those wait together that wait
//! anyway, and makes them in one transaction (`gather.rs` of the store). What that is worth is seen without a
//! server, since only the store can do without it: the same statements, in a transaction each. What several
//! servers get, which gather each for itself, is seen over HTTP. All take turns on one database.

mod driven;
mod gathered;

use std::path::Path;
use std::time::Duration;

use crate::batches::Waits;
use crate::batches::batch::Caller;
use crate::batches::load;
use crate::cpu::CpuReading;
use crate::failure::Failure;
use crate::lines::Line;
use crate::options::Options;
use crate::server::{Place, Server};
use crate::{Database, FilledStore, filled};
use driven::Driver;
use gathered::Gathered;

/// Clients that make accesses at the same time.
const N_CLIENTS: usize = 64;

/// Servers, where there are several.
const N_SERVERS: usize = 3;

/// How long each is watched in its turn.
const STRETCH: Duration = Duration::from_secs(3);

/// How long each goes before the first turn: connections are made, and statements prepared.
const WARM_UP: Duration = Duration::from_millis(500);

/// Gathering is to bring one and a half times as many, for half of what the database does for each.
const GOAL_ALONE: f64 = 0.67;
const GOAL_DATABASE: f64 = 0.5;

/// Three servers are to make three quarters of what one does: they wait for each other's transactions.
const GOAL_ONE_SERVER: f64 = 1.33;

/// What one of them did in its turn.
#[derive(Clone, Copy, Debug)]
struct Turn {
    waits: Waits,
    /// What the database's processes used for each creation.
    database_us: f64,
    /// What the servers used for each.
    servers_us: f64,
    /// How many a transaction carried, where servers tell.
    per_transaction: f64,
}

/// How accesses are made.
const N_WAYS: usize = 4;

/// The turns of all, in one round.
#[derive(Clone, Copy, Debug)]
struct Round {
    gathered: Turn,
    alone: Turn,
    one: Turn,
    several: Turn,
}

/// Measures everything.
pub(crate) fn run(database: &Database, options: Options) -> Result<Vec<Line>, Failure> {
    let Database::Postgres { runtime, cluster, .. } = database else {
        let why = "SQLite's writer gathers by itself, and serves one server; leave --store away";
        return Err(Failure::Usage(why.to_owned()));
    };
    let (binary, shelf) = crate::find_binary_and_shelf()?;
    let FilledStore { place, .. } =
        crate::fill_store(database, &binary, &shelf, options.large_rows)?;
    let servers = serve(&place, &shelf)?;
    let token = place.issue_token("access:write")?;
    let figures = Gathered { token: place.issue_token_for("*", "admin")? };
    let url = place.database_url.as_deref().unwrap_or_default();
    let driver = Driver::open(runtime, url)?;
    let family = cluster.process_id;
    let turn = |who: usize, stretch| match who {
        0 | 1 => drive(&driver, who == 0, stretch, family),
        2 => ask(&servers[..1], &token, &figures, stretch, family),
        _ => ask(&servers, &token, &figures, stretch, family),
    };

    for who in 0..N_WAYS {
        turn(who, WARM_UP)?;
    }
    let mut rounds = Vec::new();
    for round in 0..options.n_rounds {
        eprintln!("bench: {N_CLIENTS} clients, round {} of {}", round + 1, options.n_rounds);
        // Whoever goes first has the disk as others left it.
        let mut turns = [None; N_WAYS];
        for nth in 0..N_WAYS {
            let who = (nth + round) % N_WAYS;
            turns[who] = Some(turn(who, STRETCH)?);
        }
        let [Some(gathered), Some(alone), Some(one), Some(several)] = turns else { continue };
        let round = Round { gathered, alone, one, several };
        eprintln!("bench: {round:?}");
        rounds.push(round);
    }
    driver.close();
    for server in servers {
        server.stop()?;
    }
    Ok(lines(&rounds))
}

fn lines(rounds: &[Round]) -> Vec<Line> {
    let line = |what: &str, unit, figures: fn(&Round) -> (f64, f64), goal| {
        Line::new(what, unit, rounds.iter().map(figures).collect(), goal)
    };
    #[rustfmt::skip]
    let lines = vec![
        line("store: a transaction each, beside gathered", "1/s",
            |it| (it.alone.waits.per_second, it.gathered.waits.per_second), Some(GOAL_ALONE)),
        line("store: the database's CPU for one gathered, beside a transaction each", "µs",
            |it| (it.gathered.database_us, it.alone.database_us), Some(GOAL_DATABASE)),
        line("store: p50 gathered, beside a transaction each", "µs",
            |it| (it.gathered.waits.p50_us, it.alone.waits.p50_us), None),
        line("store: p99 gathered, beside a transaction each", "µs",
            |it| (it.gathered.waits.p99_us, it.alone.waits.p99_us), None),
        line("HTTP: one server, beside three", "1/s",
            |it| (it.one.waits.per_second, it.several.waits.per_second), Some(GOAL_ONE_SERVER)),
        line("HTTP: creations in a transaction with three servers, beside one server", "",
            |it| (it.several.per_transaction, it.one.per_transaction), None),
        line("HTTP: the database's CPU for one with three servers, beside one server", "µs",
            |it| (it.several.database_us, it.one.database_us), None),
        line("HTTP: the servers' CPU for one with three servers, beside one server", "µs",
            |it| (it.several.servers_us, it.one.servers_us), None),
        line("HTTP: p50 with three servers, beside one server", "µs",
            |it| (it.several.waits.p50_us, it.one.waits.p50_us), None),
        line("HTTP: p99 with three servers, beside one server", "µs",
            |it| (it.several.waits.p99_us, it.one.waits.p99_us), None),
    ];
    lines
}

/// Starts the servers, each with a log of its own.
fn serve(place: &Place, shelf: &Path) -> Result<Vec<Server>, Failure> {
    let nth = |n: usize| {
        let directory = shelf.join(format!("creations-{n}"));
        std::fs::create_dir_all(&directory)
            .map_err(|cause| filled::trouble_with(&directory, &cause))?;
        Place { directory, ..place.clone() }.serve()
    };
    (0..N_SERVERS).map(nth).collect()
}

/// Has clients ask these servers, each of them always the same one.
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
        .map(|n| (servers[n % servers.len()].address(), request.as_slice()))
        .collect();
    let processes: Vec<i32> = servers.iter().map(Server::process_id).collect();
    let before = figures.of(servers)?;
    let work = || load::beside_each(&asks, 201, None, || load::pause(stretch));
    let turn = watch(family, &processes, work)?;
    Ok(Turn { per_transaction: figures.of(servers)?.since(before), ..turn })
}

/// Has as many ask the store itself.
fn drive(
    driver: &Driver<'_>,
    is_gathered: bool,
    stretch: Duration,
    family: i32,
) -> Result<Turn, Failure> {
    let own = std::process::id().cast_signed();
    watch(family, &[own], || driver.make(N_CLIENTS, stretch, is_gathered))
}

/// Looks at what the database and those processes use meanwhile.
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
    let unreadable =
        |cause: std::io::Error| Failure::Trouble(format!("no account of the CPU used: {cause}"));
    let before = look().map_err(unreadable)?;
    let (seen, waits) = work()?;
    let after = look().map_err(unreadable)?;
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
