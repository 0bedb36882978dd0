//! Case 9, the cost of batches: their duration against plain inserts of the same rows, and their effect on other
//! requests.
//!
//! Everything is compared within one run, on equally filled stores: one copy of a filled store serves the server,
//! another one takes the bare rows.

mod bare;
pub(crate) mod batch;
mod derivation;
mod hashing;
pub(crate) mod load;

use std::time::{Duration, Instant};

use self::batch::Caller;
use crate::cpu::CpuReading;
use crate::failure::Failure;
use crate::fixture::Fixture;
use crate::options::Options;
use crate::quantiles::Latencies;
use crate::result_line::ResultLine;

pub(crate) use self::bare::Bare;

/// Accesses in a batch: the most that the server accepts.
const N_CREATIONS: u32 = 100_000;

/// Longest duration of a batch, as a multiple of inserting its bare rows.
const GOAL_SQLITE: f64 = 2.0;
const GOAL_POSTGRES: f64 = 1.5;

/// Highest latency of other requests during a batch, as a multiple of that without one.
const GOAL_P99: f64 = 5.0;
const GOAL_P50: f64 = 2.0;

/// Nine tenths of the machine's full speed.
const GOAL_HASHES: f64 = 1.11;

/// Highest share of deriving and hashing in a batch's CPU.
const GOAL_SECRETS: f64 = 0.05;

/// Rounds of single creations during a batch.
const OTHERS_ROUNDS: usize = 3;

/// Clients that create single accesses during a batch.
const N_CLIENTS: [usize; 2] = [4, 16];

/// Duration of the measurement without a batch.
const CALM: Duration = Duration::from_secs(4);

/// Chosen passwords in a batch: some twenty seconds of hashing on two cores.
const N_PASSWORDS: u32 = 2000;

/// Measures everything; bare rows go into a separate store, which is as full as the server's.
pub(crate) fn measure(
    fixture: &Fixture,
    bare: &mut Bare<'_>,
    options: &Options,
) -> Result<Vec<ResultLine>, Failure> {
    let address = fixture.server.address().to_owned();
    let caller = Caller { address, token: fixture.token.clone() };
    let mut lines = creations(fixture, &caller, bare, options.rounds(5, 3))?;
    if options.quick {
        eprintln!("bench: a quick run skips the effect of batches on other requests");
    } else {
        for n_clients in N_CLIENTS {
            lines.extend(others(&caller, n_clients, OTHERS_ROUNDS)?);
        }
        lines.extend(passwords(&caller)?);
    }
    Ok(lines)
}

/// A batch of creations against inserts of its bare rows, alternating.
fn creations(
    fixture: &Fixture,
    caller: &Caller,
    bare: &mut Bare<'_>,
    n_rounds: usize,
) -> Result<Vec<ResultLine>, Failure> {
    let family = fixture.database_process_id;
    let (mut seconds, mut cpu_seconds, mut derived) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..n_rounds {
        eprintln!("bench: {N_CREATIONS} creations, round {} of {n_rounds}", round + 1);
        let n_before = round as u64 * u64::from(N_CREATIONS);
        let (job, accesses) = fixture.fleet.batch(n_before, N_CREATIONS.into());
        let own = std::process::id().cast_signed();
        let rows = Bare::rows(job, &accesses);
        let of_rows = || measure_usage(own, family, || bare.insert(rows));
        let of_batch = || {
            measure_usage(fixture.server.process_id(), family, || {
                caller.make(&batch::by_number(N_CREATIONS), N_CREATIONS).map(|made| made.took)
            })
        };
        // The order alternates, because the first finds the disk as the others left it.
        let (rows, made) = if round.is_multiple_of(2) {
            let rows = of_rows()?;
            (rows, of_batch()?)
        } else {
            let made = of_batch()?;
            (of_rows()?, made)
        };
        let secrets = measure_usage(own, None, || Ok(derivation::derive(N_CREATIONS)))?;
        seconds.push((made.seconds, rows.seconds));
        cpu_seconds.push((made.cpu_seconds, rows.cpu_seconds));
        derived.push((secrets.cpu_seconds, made.cpu_seconds));
    }
    let goal = if family.is_some() { GOAL_POSTGRES } else { GOAL_SQLITE };
    let cpu = "the same, CPU of all who work for them";
    Ok(vec![
        ResultLine::new("100,000 creations, beside the bare rows", "s", seconds).at_most(goal),
        ResultLine::new(cpu, "s", cpu_seconds).cpu(),
        ResultLine::new("deriving and hashing, as a part of that CPU", "s", derived)
            .cpu()
            .at_most(GOAL_SECRETS),
    ])
}

/// Single creations during a batch of creations, against those without one.
fn others(caller: &Caller, n_clients: usize, n_rounds: usize) -> Result<Vec<ResultLine>, Failure> {
    let (mut p50, mut p99, mut per_second) = (Vec::new(), Vec::new(), Vec::new());
    let requests = vec![caller.create_one(); n_clients];
    for round in 0..n_rounds {
        eprintln!("bench: {n_clients} clients during a batch, round {} of {n_rounds}", round + 1);
        let (seen, calm) = load::during_load(caller, &requests, 201, None, || load::pause(CALM))?;
        let alone = Latencies::of(calm, seen);
        let batch = || caller.make(&batch::by_number(N_CREATIONS), N_CREATIONS);
        let (seen, busy) = load::during_load(caller, &requests, 201, None, batch)?;
        let beside = Latencies::of(busy, seen);
        p50.push((beside.p50_us, alone.p50_us));
        p99.push((beside.p99_us, alone.p99_us));
        per_second.push((f64::from(N_CREATIONS) / seen.as_secs_f64(), beside.per_second));
    }
    let what = |what| format!("{n_clients} clients make accesses: {what}");
    Ok(vec![
        ResultLine::new(&what("p50 during a batch"), "µs", p50),
        ResultLine::new(&what("p99 during a batch"), "µs", p99).at_most(GOAL_P99),
        ResultLine::new(&what("the batch's, beside theirs"), "1/s", per_second),
    ])
}

/// Chosen passwords at the machine's full speed, and checks of credentials meanwhile.
fn passwords(caller: &Caller) -> Result<Vec<ResultLine>, Failure> {
    eprintln!("bench: {N_PASSWORDS} chosen passwords");
    let full_speed = |n| hashing::hashes_per_second(n);
    let before = full_speed(hashing::FOR);
    let begun = Instant::now();
    caller.make(&batch::with_passwords(N_PASSWORDS), N_PASSWORDS)?;
    let took = begun.elapsed();
    let full_speed = f64::midpoint(before, full_speed(hashing::FOR));
    let speed = f64::from(N_PASSWORDS) / took.as_secs_f64();

    let checks = caller.checks()?;
    let (seen, calm) =
        load::during_load(caller, &checks, 200, Some(load::PACE), || load::pause(CALM))?;
    let alone =
        calm.into_iter().map(|latencies| Latencies::of(vec![latencies], seen)).collect::<Vec<_>>();
    let batch = || caller.make(&batch::with_passwords(N_PASSWORDS), N_PASSWORDS);
    let (seen, busy) = load::during_load(caller, &checks, 200, Some(load::PACE), batch)?;
    let beside =
        busy.into_iter().map(|latencies| Latencies::of(vec![latencies], seen)).collect::<Vec<_>>();

    let seconds = 1.0 / speed;
    let mut lines = vec![
        ResultLine::new(
            "a chosen password, beside the machine's full speed",
            "ms",
            vec![(seconds * 1e3, 1e3 / full_speed)],
        )
        .at_most(GOAL_HASHES),
    ];
    for ((kind, beside), alone) in ["generated", "remembered chosen"].iter().zip(beside).zip(alone)
    {
        let what = |which| format!("checks of {kind} passwords: {which} during that");
        let p50 = vec![(beside.p50_us, alone.p50_us)];
        lines.push(ResultLine::new(&what("p50"), "µs", p50).at_most(GOAL_P50));
        let p99 = vec![(beside.p99_us, alone.p99_us)];
        lines.push(ResultLine::new(&what("p99"), "µs", p99).at_most(GOAL_P99));
    }
    Ok(lines)
}

/// Duration and CPU of some work.
pub(crate) struct Cost {
    seconds: f64,
    pub(crate) cpu_seconds: f64,
}

/// Measures the duration and CPU of some work, for a process and a database.
pub(crate) fn measure_usage(
    process_id: i32,
    family: Option<i32>,
    work: impl FnOnce() -> Result<Duration, Failure>,
) -> Result<Cost, Failure> {
    let look = || {
        let database = family.map(CpuReading::of_family).transpose()?;
        Ok((CpuReading::of_process(process_id)?, database.unwrap_or_default()))
    };
    let before = look().map_err(Failure::unreadable_usage)?;
    let took = work()?;
    let after = look().map_err(Failure::unreadable_usage)?;
    let used = after.0.since(&before.0) + after.1.since(&before.1);
    Ok(Cost { seconds: took.as_secs_f64(), cpu_seconds: used.as_secs_f64() })
}
