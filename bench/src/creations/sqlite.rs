//! Case 7: creations on SQLite, grouped, and with a transaction each.
//!
//! The gain is measured without a server, since only the store can run without groups. That happens in a separate
//! process, so that its flushes can be slowed down. The clients' view is measured over HTTP.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::driven::{Driver, TransactionMode};
use super::{N_CLIENTS, WARM_UP, period, slow_flush};
use crate::batches::batch::Caller;
use crate::batches::load;
use crate::database::Database;
use crate::failure::Failure;
use crate::filled;
use crate::fixture::Setup;
use crate::quantiles::Latencies;
use crate::result_line::ResultLine;
use crate::server::Instance;

/// First argument of the process that calls the store.
pub(crate) const DRIVE: &str = "drive-creations";

/// Least gain of grouping, normally and with a millisecond more per flush.
const GOAL: f64 = 3.0;
const GOAL_SLOWED: f64 = 10.0;

/// Most transactions per second with a millisecond more per flush.
const SLOWED_MAX: f64 = 1000.0;

/// Highest p99 as a multiple of p50.
const GOAL_TAIL: f64 = 8.0;

/// Both modes in one round: creations per second, and their latencies in microseconds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Round {
    gathered: [f64; 3],
    alone: [f64; 3],
}

pub(crate) fn measure(
    setup: &Setup,
    database: &Database,
    n_rounds: usize,
) -> Result<Vec<ResultLine>, Failure> {
    let filled = setup.fill(database, setup.options.usual_rows())?;
    let instance = filled::copy(setup, database, &filled, "creations")?.instance;
    let slow_flush = slow_flush::build(&setup.store_directory)?;
    let period = period(&setup.options);
    let mut lines = Vec::new();
    for (slowed_by, how, goal) in
        [(None, "", GOAL), (Some(&slow_flush), ", flushes slowed by 1 ms", GOAL_SLOWED)]
    {
        eprintln!("bench: {N_CLIENTS} clients on SQLite{how}");
        let rounds = drive(&instance, slowed_by, n_rounds, period)?;
        if slowed_by.is_some() && rounds.iter().any(|it| it.alone[0] > SLOWED_MAX) {
            let why = "flushes are not slowed down: the library was not loaded";
            return Err(Failure::Step(why.to_owned()));
        }
        lines.extend(sum_up(&rounds, how, goal));
        let latencies = run_clients(&instance, slowed_by, n_rounds, period)?;
        let tail = latencies.iter().map(|it| (it.p99_us, it.p50_us)).collect();
        lines.push(
            ResultLine::new(&format!("HTTP: p99, beside p50{how}"), "µs", tail)
                .at_most(GOAL_TAIL)
                .with_latencies(Latencies::median(latencies.into_iter())),
        );
    }
    Ok(lines)
}

fn sum_up(rounds: &[Round], how: &str, goal: f64) -> Vec<ResultLine> {
    let of = |figures: fn(&Round) -> (f64, f64)| rounds.iter().map(figures).collect();
    let latencies =
        |[per_second, p50_us, p99_us]: [f64; 3]| Latencies { p50_us, p99_us, per_second };
    let gathered = Latencies::median(rounds.iter().map(|it| latencies(it.gathered)));
    vec![
        ResultLine::new(
            &format!("store: gathered, beside a transaction each{how}"),
            "1/s",
            of(|it| (it.gathered[0], it.alone[0])),
        )
        .at_least(goal)
        .with_latencies(gathered),
        ResultLine::new(
            &format!("store: p99, beside p50{how}"),
            "µs",
            of(|it| (it.gathered[2], it.gathered[1])),
        )
        .at_most(GOAL_TAIL),
    ]
}

/// Starts another process that calls the store.
fn drive(
    instance: &Instance,
    slowed_by: Option<&PathBuf>,
    n_rounds: usize,
    period: Duration,
) -> Result<Vec<Round>, Failure> {
    let own = std::env::current_exe()
        .map_err(|cause| Failure::Step(format!("this program can't be found: {cause}")))?;
    let mut command = Command::new(own);
    command.arg(DRIVE).arg(instance.database_file()).arg(n_rounds.to_string());
    command.arg(period.as_millis().to_string());
    command.envs(slowed_by.map(|library| (slow_flush::LOADED_BY, library)));
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|cause| Failure::Step(format!("no second process: {cause}")))?;
    let rounds = serde_json::from_slice(&output.stdout);
    rounds.map_err(|_| Failure::Step("the store could not be driven".to_owned()))
}

/// Work of that process: both modes, round after round.
pub(crate) fn drive_here(mut words: impl Iterator<Item = String>) -> Result<(), Failure> {
    let usage = || Failure::Usage(format!("`{DRIVE}` needs a file, rounds and milliseconds"));
    let path = words.next().ok_or_else(usage)?;
    let n_rounds: usize = words.next().and_then(|n| n.parse().ok()).ok_or_else(usage)?;
    let period = words.next().and_then(|n| n.parse().ok()).ok_or_else(usage)?;
    let period = Duration::from_millis(period);
    let runtime = tokio::runtime::Runtime::new()
        .map_err(|cause| Failure::Step(format!("no threads to run on: {cause}")))?;
    let driver = Driver::open_sqlite(&runtime, Path::new(&path))?;
    let run = |mode, period: Duration| {
        let (seen, latencies) = driver.make(N_CLIENTS, period, mode)?;
        let Latencies { p50_us, p99_us, per_second } = Latencies::of(latencies, seen);
        Ok::<_, Failure>([per_second, p50_us, p99_us])
    };
    for mode in [TransactionMode::Gathered, TransactionMode::Concurrent] {
        run(mode, WARM_UP)?;
    }
    let mut rounds = Vec::new();
    for round in 0..n_rounds {
        let (gathered, alone) = if round.is_multiple_of(2) {
            (run(TransactionMode::Gathered, period)?, run(TransactionMode::Concurrent, period)?)
        } else {
            let alone = run(TransactionMode::Concurrent, period)?;
            (run(TransactionMode::Gathered, period)?, alone)
        };
        rounds.push(Round { gathered, alone });
    }
    driver.close();
    let json = serde_json::to_string(&rounds);
    println!("{}", json.map_err(|cause| Failure::Step(cause.to_string()))?);
    Ok(())
}

/// Runs clients against a server.
fn run_clients(
    instance: &Instance,
    slowed_by: Option<&PathBuf>,
    n_rounds: usize,
    period: Duration,
) -> Result<Vec<Latencies>, Failure> {
    let token = instance.issue_token("access:write")?;
    let server = instance.serve_with(slowed_by.map(|library| (slow_flush::LOADED_BY, library)))?;
    let caller = Caller { address: server.address().to_owned(), token };
    let requests = vec![caller.create_one(); N_CLIENTS];
    let run = |period| load::during_load(&caller, &requests, 201, None, || load::pause(period));
    run(WARM_UP)?;
    let rounds =
        (0..n_rounds).map(|_| run(period).map(|(seen, latencies)| Latencies::of(latencies, seen)));
    let rounds = rounds.collect::<Result<Vec<_>, _>>()?;
    server.stop()?;
    Ok(rounds)
}
