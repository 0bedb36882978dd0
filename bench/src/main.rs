//! The bench: the cost of requests to a running server, each case against its yardstick in the same run.
//!
//! This file is the whole run; `cases.rs` lists the cases, and `docs/performance.md` explains why and how.
//! `cargo xtask bench` builds everything and starts it.

mod batches;
mod cases;
mod changes;
mod check;
mod client;
mod cpu;
mod creations;
mod database;
mod devices;
mod failure;
mod fill;
mod filled;
mod filters;
mod fixture;
mod fleet;
mod journal;
mod lists;
mod memory;
mod options;
mod overload;
mod plot;
mod products;
mod quantiles;
mod read;
mod regression;
mod report;
mod result_line;
mod results;
mod runner;
mod server;
mod start;
mod store_kind;
mod storm;
mod table;
mod task;

use std::process::ExitCode;
use std::{env, thread};

use batches::Bare;
use database::Database;
use failure::Failure;
use fixture::{Fixture, Setup};
use options::{Options, SMALL_ROWS};
use regression::Comparison;
use report::Chapter;
use result_line::ResultLine;
use results::Results;
use store_kind::StoreKind;
use table::with_commas;

/// The server's allocator: the bench also calls the store, and derives secrets.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let mut words = env::args().skip(1).peekable();
    let done = match words.next_if(|word| word == creations::sqlite::DRIVE) {
        Some(_) => creations::sqlite::drive_here(words),
        None => options::parse(words).and_then(run),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(options: Options) -> Result<(), Failure> {
    let setup = Setup::find(options.clone())?;
    let mut results = Results::open(&options)?;
    for kind in options.stores() {
        let database = Database::find(kind)?;
        measure_usual(&setup, &database, &mut results)?;
        measure_creations(&setup, &database, &mut results)?;
        measure_large(&setup, &database, &mut results)?;
        if options.want(11, kind) {
            let lines = products::measure(&setup, options.rounds(15, 3))?;
            results.put(chapter(11, &database, products::about(), lines))?;
        }
        if options.want(15, kind) {
            let lines = overload::measure(&setup, &database)?;
            let about = about(&database, options.usual_rows());
            results.put(chapter(15, &database, about, lines))?;
        }
        if options.want(17, kind) {
            let lines = journal::measure(&setup, &database)?;
            let about = about(&database, options.usual_rows());
            results.put(chapter(17, &database, about, lines))?;
        }
    }
    print!("{}", results.measured().markdown());
    conclude(&results, &options)
}

/// The cases that share one server with the usual number of accesses, and its memory afterwards.
fn measure_usual(setup: &Setup, database: &Database, results: &mut Results) -> Result<(), Failure> {
    let (options, kind) = (&setup.options, database.kind());
    if !options.want_any(&[1, 2, 3, 9, 10, 12, 13, 16], kind) {
        return Ok(());
    }
    let n_accesses = options.usual_rows();
    let filled = setup.fill(database, n_accesses)?;
    let own = filled::copy(setup, database, &filled, "usual")?;
    let devices = devices::give_passwords(database, &own)?;
    let fixture = Fixture::start(database, own)?;
    let mut put = |case: u8, lines: Vec<ResultLine>| {
        results.put(chapter(case, database, about(database, n_accesses), lines))
    };
    let plan = options.round_plan(21, 5);
    if options.want(1, kind) {
        put(1, read::measure(&fixture, plan)?)?;
    }
    if options.want(2, kind) {
        put(2, check::measure_generated(&fixture, &devices, plan)?)?;
    }
    if options.want(3, kind) {
        put(3, check::measure_chosen(&fixture, plan)?)?;
    }
    if options.want(9, kind) {
        let bare = filled::copy(setup, database, &filled, "bare")?;
        let mut bare = Bare::open(database, &bare.instance)?;
        put(9, batches::measure(&fixture, &mut bare, options)?)?;
    }
    if options.want(10, kind) {
        put(10, task::measure(&fixture, options.rounds(9, 3))?)?;
    }
    if options.want(12, kind) {
        put(12, storm::measure(&fixture, &devices, options)?)?;
    }
    if options.want(13, kind) {
        put(13, memory::measure(&fixture.server, options.quick)?)?;
    }
    if options.want(16, kind) {
        put(16, changes::measure(&fixture, options)?)?;
    }
    fixture.stop()
}

fn measure_creations(
    setup: &Setup,
    database: &Database,
    results: &mut Results,
) -> Result<(), Failure> {
    let (options, kind) = (&setup.options, database.kind());
    let (case, n_rounds) = match kind {
        StoreKind::Sqlite => (7, options.rounds(5, 3)),
        StoreKind::Postgres => (8, options.rounds(7, 3)),
    };
    if !options.want(case, kind) {
        return Ok(());
    }
    let lines = match kind {
        StoreKind::Sqlite => creations::sqlite::measure(setup, database, n_rounds),
        StoreKind::Postgres => creations::postgres::measure(setup, database, n_rounds),
    };
    results.put(chapter(case, database, about(database, options.usual_rows()), lines?))
}

/// The cases with very many accesses.
fn measure_large(setup: &Setup, database: &Database, results: &mut Results) -> Result<(), Failure> {
    let (options, kind) = (&setup.options, database.kind());
    let n_accesses = options.large_rows;
    let mut put = |case: u8, lines: Vec<ResultLine>| match options.want(case, kind) {
        true => results.put(chapter(case, database, about(database, n_accesses), lines)),
        false => Ok(()),
    };
    if options.want_any(&[4, 5, 6], kind) {
        let large = Fixture::start(database, setup.fill(database, n_accesses)?)?;
        if options.want_any(&[4, 5], kind) {
            let small = Fixture::start(database, setup.fill(database, SMALL_ROWS)?)?;
            let measured = lists::measure(&large, &small, options.round_plan(15, 3))?;
            put(4, measured.against_first)?;
            put(5, measured.against_small)?;
            small.stop()?;
        }
        if options.want(6, kind) {
            put(6, filters::measure(&large, options)?)?;
        }
        large.stop()?;
    }
    if options.want(14, kind) {
        put(14, start::measure(setup, database, options.rounds(9, 3))?)?;
    }
    Ok(())
}

fn chapter(case: u8, database: &Database, about: String, lines: Vec<ResultLine>) -> Chapter {
    let n_cores = thread::available_parallelism().map_or(1, usize::from);
    let about = format!("{} on {n_cores} cores; {about}", database.version());
    Chapter { case, store: database.kind(), about, lines }
}

fn about(database: &Database, n_accesses: u64) -> String {
    let beside = match database.kind() {
        StoreKind::Sqlite => "with the clients",
        StoreKind::Postgres => "with the database and the clients",
    };
    format!("shared {beside}; {} accesses.", with_commas(n_accesses))
}

/// Compares the results with stored ones and with their goals.
fn conclude(results: &Results, options: &Options) -> Result<(), Failure> {
    if let Some(baseline) = results.baseline() {
        let Comparison { n_compared, regressions } =
            regression::compare(baseline, results.measured());
        if n_compared == 0 {
            let why = "the stored results have none of the measured figures";
            return Err(Failure::Step(why.to_owned()));
        }
        eprintln!("bench: {n_compared} ratios of CPU were compared with the stored results");
        if !regressions.is_empty() {
            return Err(Failure::Regressions(regressions));
        }
    }
    match results.measured().n_missed() {
        n if n > 0 && options.strict => Err(Failure::MissedGoals(n)),
        _ => Ok(()),
    }
}
