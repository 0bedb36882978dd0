//! Case 8: creations on PostgreSQL, grouped, with a transaction each, and on several servers.
//!
//! A tenant's creations lock its counter one after the other, so a server groups the waiting ones in one transaction
//! (`creation_groups.rs` of the store). The gain is measured without a server, since only the store can run without
//! groups: the same statements, in a transaction each. Several servers, each with its own groups, are measured over
//! HTTP. All modes alternate on one database.

use std::path::Path;
use std::time::Duration;

use super::driven::{Driver, TransactionMode};
use super::gather_metrics::GatherMetrics;
use super::{N_CLIENTS, WARM_UP, period};
use crate::batches::batch::Caller;
use crate::batches::load;
use crate::cpu::CpuReading;
use crate::database::Database;
use crate::failure::Failure;
use crate::filled;
use crate::fixture::Setup;
use crate::quantiles::Latencies;
use crate::result_line::ResultLine;
use crate::server::{Instance, Server};

/// Servers, where there are several.
const N_SERVERS: usize = 3;

/// Grouping must bring one and a half times as many creations, for half of the database's CPU per creation.
const GOAL_GATHERED: f64 = 1.5;
const GOAL_DATABASE: f64 = 0.5;

/// Three servers must reach three quarters of one server's rate: they wait for each other's transactions.
const GOAL_SEVERAL: f64 = 0.75;

#[derive(Clone, Copy, Debug)]
struct ModeResult {
    latencies: Latencies,
    /// CPU of the database's processes per creation.
    database_us: f64,
    /// CPU of the servers per creation.
    servers_us: f64,
    /// Creations per transaction, by the servers' metrics.
    per_transaction: f64,
}

const N_MODES: usize = 5;

#[derive(Clone, Copy, Debug)]
struct Round {
    gathered: ModeResult,
    alone: ModeResult,
    in_turn: ModeResult,
    one: ModeResult,
    several: ModeResult,
}

pub(crate) fn measure(
    setup: &Setup,
    database: &Database,
    n_rounds: usize,
) -> Result<Vec<ResultLine>, Failure> {
    let Database::Postgres { runtime, cluster, .. } = database else { return Ok(Vec::new()) };
    let filled = setup.fill(database, setup.options.usual_rows())?;
    let instance = filled::copy(setup, database, &filled, "creations")?.instance;
    let servers = serve(&instance, &setup.store_directory)?;
    let token = instance.issue_token("access:write")?;
    let figures = GatherMetrics { token: instance.issue_token_for("*", "admin")? };
    let url = instance.database_url.as_deref().unwrap_or_default();
    let driver = Driver::open_postgres(runtime, url)?;
    let family = cluster.process_id;
    let run = |mode: usize, period| match mode {
        0 => drive(&driver, TransactionMode::Gathered, period, family),
        1 => drive(&driver, TransactionMode::Concurrent, period, family),
        2 => drive(&driver, TransactionMode::Sequential, period, family),
        3 => run_clients(&servers[..1], &token, &figures, period, family),
        _ => run_clients(&servers, &token, &figures, period, family),
    };

    for mode in 0..N_MODES {
        run(mode, WARM_UP)?;
    }
    let mut rounds = Vec::new();
    for round in 0..n_rounds {
        eprintln!("bench: {N_CLIENTS} clients on PostgreSQL, round {} of {n_rounds}", round + 1);
        // The order changes, because the first finds the disk as the others left it.
        let mut results = [None; N_MODES];
        for nth in 0..N_MODES {
            let mode = (nth + round) % N_MODES;
            results[mode] = Some(run(mode, period(&setup.options))?);
        }
        let [Some(gathered), Some(alone), Some(in_turn), Some(one), Some(several)] = results else {
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

fn lines(rounds: &[Round]) -> Vec<ResultLine> {
    let line = |what: &str, unit, figures: fn(&Round) -> (f64, f64)| {
        ResultLine::new(what, unit, rounds.iter().map(figures).collect())
    };
    let latencies = |of: fn(&Round) -> Latencies| Latencies::median(rounds.iter().map(of));
    #[rustfmt::skip]
    let lines = vec![
        line("store: gathered, beside a transaction each, 16 at a time", "1/s",
            |it| (it.gathered.latencies.per_second, it.alone.latencies.per_second))
            .at_least(GOAL_GATHERED).with_latencies(latencies(|it| it.gathered.latencies)),
        line("store: gathered, beside a transaction each, one after the other", "1/s",
            |it| (it.gathered.latencies.per_second, it.in_turn.latencies.per_second)).at_least(GOAL_GATHERED),
        line("store: the database's CPU for one gathered, beside a transaction each", "µs",
            |it| (it.gathered.database_us, it.alone.database_us)).cpu().at_most(GOAL_DATABASE),
        line("store: the database's CPU for one gathered, beside one after the other", "µs",
            |it| (it.gathered.database_us, it.in_turn.database_us)).cpu().at_most(GOAL_DATABASE),
        line("HTTP: three servers, beside one", "1/s",
            |it| (it.several.latencies.per_second, it.one.latencies.per_second))
            .at_least(GOAL_SEVERAL).with_latencies(latencies(|it| it.several.latencies)),
        line("HTTP: creations in a transaction with three servers, beside one server", "",
            |it| (it.several.per_transaction, it.one.per_transaction)),
        line("HTTP: the database's CPU for one with three servers, beside one server", "µs",
            |it| (it.several.database_us, it.one.database_us)).cpu(),
        line("HTTP: the servers' CPU for one with three servers, beside one server", "µs",
            |it| (it.several.servers_us, it.one.servers_us)).cpu(),
        line("HTTP: p99 of one server, beside its p50", "µs",
            |it| (it.one.latencies.p99_us, it.one.latencies.p50_us)).with_latencies(latencies(|it| it.one.latencies)),
    ];
    lines
}

/// Starts the servers, each with its own log.
fn serve(instance: &Instance, store_directory: &Path) -> Result<Vec<Server>, Failure> {
    let nth = |n: usize| {
        let directory = store_directory.join(format!("creations-{n}"));
        std::fs::create_dir_all(&directory)
            .map_err(|cause| Failure::of_path(&directory, &cause))?;
        Instance { directory, ..instance.clone() }.serve()
    };
    (0..N_SERVERS).map(nth).collect()
}

/// Runs clients against these servers, each client with one server.
fn run_clients(
    servers: &[Server],
    token: &str,
    figures: &GatherMetrics,
    period: Duration,
    family: i32,
) -> Result<ModeResult, Failure> {
    let caller = Caller { address: String::new(), token: token.to_owned() };
    let request = caller.create_one();
    let clients: Vec<_> = (0..N_CLIENTS)
        .map(|n| load::RepeatingClient {
            address: servers[n % servers.len()].address(),
            requests: vec![request.as_slice()],
        })
        .collect();
    let processes: Vec<i32> = servers.iter().map(Server::process_id).collect();
    let before = figures.of(servers)?;
    let work = || {
        let (seen, latencies, ()) =
            load::during_load_of_each(&clients, 201, None, || load::pause(period))?;
        Ok((seen, latencies))
    };
    let run = measure_usage(family, &processes, work)?;
    Ok(ModeResult { per_transaction: figures.of(servers)?.since(before), ..run })
}

/// Runs clients on the store itself.
fn drive(
    driver: &Driver<'_>,
    mode: TransactionMode,
    period: Duration,
    family: i32,
) -> Result<ModeResult, Failure> {
    let own = std::process::id().cast_signed();
    measure_usage(family, &[own], || driver.make(N_CLIENTS, period, mode))
}

/// Measures the CPU of the database and of these processes during some work.
fn measure_usage(
    family: i32,
    processes: &[i32],
    work: impl FnOnce() -> Result<(Duration, Vec<Vec<Duration>>), Failure>,
) -> Result<ModeResult, Failure> {
    let read = || {
        let servers = processes.iter().map(|id| CpuReading::of_process(*id));
        let servers = servers.collect::<std::io::Result<Vec<_>>>()?;
        Ok((CpuReading::of_family(family)?, servers))
    };
    let before = read().map_err(Failure::unreadable_usage)?;
    let (seen, latencies) = work()?;
    let after = read().map_err(Failure::unreadable_usage)?;
    let n_made = latencies.iter().map(Vec::len).sum::<usize>() as f64;
    let servers = after.1.iter().zip(&before.1).map(|(after, before)| after.since(before));
    let each = |used: Duration| used.as_secs_f64() * 1e6 / n_made;
    Ok(ModeResult {
        database_us: each(after.0.since(&before.0)),
        servers_us: each(servers.sum()),
        latencies: Latencies::of(latencies, seen),
        per_transaction: f64::NAN,
    })
}
