//! The bench: the cost of requests to a running server, each case against its yardstick in the same run.
//!
//! This file is the whole run; `cases.rs` lists the cases, and `docs/performance.md` explains why and how.
//! `cargo xtask bench` builds everything and starts it.

mod batches;
mod cases;
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
mod fleet;
mod line;
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
mod results;
mod server;
mod stage;
mod start;
mod store_kind;
mod storm;
mod table;
mod task;
mod turns;

use std::process::ExitCode;
use std::{env, thread};

use batches::Bare;
use database::Database;
use failure::Failure;
use line::Line;
use options::{Options, SMALL_ROWS};
use regression::Comparison;
use report::Chapter;
use results::Results;
use stage::{Stage, Workshop};
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
    let workshop = Workshop::find(options.clone())?;
    let mut results = Results::open(&options)?;
    for kind in options.stores() {
        let database = Database::find(kind)?;
        measure_usual(&workshop, &database, &mut results)?;
        measure_creations(&workshop, &database, &mut results)?;
        measure_large(&workshop, &database, &mut results)?;
        if options.want(11, kind) {
            let lines = products::measure(&workshop, options.rounds(15, 3))?;
            results.put(chapter(11, &database, products::about(), lines))?;
        }
        if options.want(15, kind) {
            let lines = overload::measure(&workshop, &database)?;
            let about = about(&database, options.usual_rows());
            results.put(chapter(15, &database, about, lines))?;
        }
    }
    print!("{}", results.measured().markdown());
    conclude(&results, &options)
}

/// The cases that share one server with the usual number of accesses, and its memory afterwards.
fn measure_usual(
    workshop: &Workshop,
    database: &Database,
    results: &mut Results,
) -> Result<(), Failure> {
    let (options, kind) = (&workshop.options, database.kind());
    if !options.want_any(&[1, 2, 3, 9, 10, 12, 13], kind) {
        return Ok(());
    }
    let n_accesses = options.usual_rows();
    let filled = workshop.fill(database, n_accesses)?;
    let own = filled::copy(workshop, database, &filled, "usual")?;
    let devices = devices::give_passwords(database, &own)?;
    let stage = Stage::set(database, own)?;
    let mut put = |case: u8, lines: Vec<Line>| {
        results.put(chapter(case, database, about(database, n_accesses), lines))
    };
    let course = options.course(21, 5);
    if options.want(1, kind) {
        put(1, read::measure(&stage, course)?)?;
    }
    if options.want(2, kind) {
        put(2, check::measure_generated(&stage, &devices, course)?)?;
    }
    if options.want(3, kind) {
        put(3, check::measure_chosen(&stage, course)?)?;
    }
    if options.want(9, kind) {
        let bare = filled::copy(workshop, database, &filled, "bare")?;
        let mut bare = Bare::open(database, &bare.place)?;
        put(9, batches::measure(&stage, &mut bare, options)?)?;
    }
    if options.want(10, kind) {
        put(10, task::measure(&stage, options.rounds(9, 3))?)?;
    }
    if options.want(12, kind) {
        put(12, storm::measure(&stage, &devices, options)?)?;
    }
    if options.want(13, kind) {
        put(13, memory::measure(&stage.server, options.quick)?)?;
    }
    stage.strike()
}

fn measure_creations(
    workshop: &Workshop,
    database: &Database,
    results: &mut Results,
) -> Result<(), Failure> {
    let (options, kind) = (&workshop.options, database.kind());
    let (case, n_rounds) = match kind {
        StoreKind::Sqlite => (7, options.rounds(5, 3)),
        StoreKind::Postgres => (8, options.rounds(7, 3)),
    };
    if !options.want(case, kind) {
        return Ok(());
    }
    let lines = match kind {
        StoreKind::Sqlite => creations::sqlite::measure(workshop, database, n_rounds),
        StoreKind::Postgres => creations::postgres::measure(workshop, database, n_rounds),
    };
    results.put(chapter(case, database, about(database, options.usual_rows()), lines?))
}

/// The cases with very many accesses.
fn measure_large(
    workshop: &Workshop,
    database: &Database,
    results: &mut Results,
) -> Result<(), Failure> {
    let (options, kind) = (&workshop.options, database.kind());
    let n_accesses = options.large_rows;
    let mut put = |case: u8, lines: Vec<Line>| match options.want(case, kind) {
        true => results.put(chapter(case, database, about(database, n_accesses), lines)),
        false => Ok(()),
    };
    if options.want_any(&[4, 5, 6], kind) {
        let large = Stage::set(database, workshop.fill(database, n_accesses)?)?;
        if options.want_any(&[4, 5], kind) {
            let small = Stage::set(database, workshop.fill(database, SMALL_ROWS)?)?;
            let measured = lists::measure(&large, &small, options.course(15, 3))?;
            put(4, measured.beside_first)?;
            put(5, measured.beside_small)?;
            small.strike()?;
        }
        if options.want(6, kind) {
            put(6, filters::measure(&large, options)?)?;
        }
        large.strike()?;
    }
    if options.want(14, kind) {
        put(14, start::measure(workshop, database, options.rounds(9, 3))?)?;
    }
    Ok(())
}

fn chapter(case: u8, database: &Database, about: String, lines: Vec<Line>) -> Chapter {
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
    if let Some(kept) = results.kept() {
        let Comparison { n_compared, regressions } = regression::compare(kept, results.measured());
        if n_compared == 0 {
            let why = "nothing was measured that the results which are kept have, too";
            return Err(Failure::Trouble(why.to_owned()));
        }
        eprintln!("bench: {n_compared} ratios of CPU were compared with those that are kept");
        if !regressions.is_empty() {
            return Err(Failure::Regressions(regressions));
        }
    }
    match results.measured().n_missed() {
        n if n > 0 && options.strict => Err(Failure::MissedGoals(n)),
        _ => Ok(()),
    }
}
