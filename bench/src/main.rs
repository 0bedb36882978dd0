//! The bench: what lists cost on a running server, with few accesses and with very many; how long batches
//! take, and what they do to others; what many clients get on one server and on several; and what is added to the time that platforms take for their products.
//!
//! This file is the whole course of measuring lists; `cases.rs` says what is measured, `docs/performance.md`
//! why it is done so. `batches.rs`, `creations.rs` and `products.rs` are the courses of the others. `cargo xtask bench` builds
//! everything and starts it.

mod batches;
mod cases;
mod client;
mod cpu;
mod creations;
mod failure;
mod fill;
mod filled;
mod fleet;
mod lines;
mod measure;
mod options;
mod products;
mod report;
mod server;
mod summary;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs, io, thread};

use failure::Failure;
use filled::FilledStore;
use measure::Stage;
use options::{Options, SMALL_ROWS, StoreKind, Subject};
use report::Report;
use serde_json::Value;

/// Where `cargo xtask bench` has started PostgreSQL.
const POSTGRES_URL: &str = "BENCH_POSTGRES_URL";

fn main() -> ExitCode {
    match options::parse(env::args().skip(1)).and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(options: Options) -> Result<(), Failure> {
    let database = Database::find(options.store)?;
    match options.subject {
        Subject::Lists => measure_lists(&database, options),
        Subject::Batches { n_passwords } => {
            let lines = batches::run(&database, options, n_passwords)?;
            let report = lines::Report { about: about(&database, options), lines };
            let name = format!("batches-{}", options.store.as_str());
            publish(&name, &report.markdown(), &report.json(), options)?;
            conclude(report.n_missed(), options)
        }
        Subject::Creations => {
            let lines = creations::run(&database, options)?;
            let report = lines::Report { about: about(&database, options), lines };
            publish("creations-postgres", &report.markdown(), &report.json(), options)?;
            conclude(report.n_missed(), options)
        }
        Subject::Products => {
            let lines = products::run(options)?;
            let report = lines::Report { about: products::about(options), lines };
            let name = format!("products-{}", options.store.as_str());
            publish(&name, &report.markdown(), &report.json(), options)?;
            conclude(report.n_missed(), options)
        }
    }
}

fn measure_lists(database: &Database, options: Options) -> Result<(), Failure> {
    let stages = [options.large_rows, SMALL_ROWS]
        .into_iter()
        .map(|n_accesses| set_stage(database, n_accesses))
        .collect::<Result<Vec<Stage>, Failure>>()?;
    let samples = measure::run(&stages, options.n_rounds)?;

    let small = samples.last().map(Vec::as_slice);
    let stores = stages.iter().zip(&samples).map(|(stage, samples)| {
        let small = small.filter(|_| stage.n_accesses != SMALL_ROWS);
        (stage.n_accesses, summary::sum_up(&stage.cases, samples, small))
    });
    let report = Report {
        database: database.version(),
        n_cores: thread::available_parallelism().map_or(1, usize::from),
        n_rounds: options.n_rounds,
        stores: stores.collect(),
    };
    for stage in stages {
        stage.server.stop()?;
    }
    let name = format!("lists-{}", options.store.as_str());
    publish(&name, &report.markdown(), &report.json(), options)?;
    conclude(report.n_missed(), options)
}

/// What the accesses are kept in.
enum Database {
    Sqlite,
    Postgres { url: String, cluster: fill::postgres::Cluster, runtime: tokio::runtime::Runtime },
}

impl Database {
    fn find(kind: StoreKind) -> Result<Self, Failure> {
        if kind == StoreKind::Sqlite {
            return Ok(Self::Sqlite);
        }
        let url = env::var(POSTGRES_URL).map_err(|_| {
            Failure::Usage(format!(
                "--store postgres needs {POSTGRES_URL}; use `cargo xtask bench`"
            ))
        })?;
        let runtime = tokio::runtime::Runtime::new()
            .map_err(|cause| Failure::Trouble(format!("no threads to run on: {cause}")))?;
        let cluster = runtime
            .block_on(fill::postgres::examine(&url))
            .map_err(Failure::during("looking at PostgreSQL"))?;
        Ok(Self::Postgres { url, cluster, runtime })
    }

    /// A process of the database's own, by which its others can be found.
    fn process_id(&self) -> Option<i32> {
        match self {
            Self::Sqlite => None,
            Self::Postgres { cluster, .. } => Some(cluster.process_id),
        }
    }

    fn version(&self) -> String {
        match self {
            // The bench and the server are built from the same lock file.
            Self::Sqlite => format!("SQLite {}", rusqlite::version()),
            Self::Postgres { cluster, .. } => format!("PostgreSQL {}", cluster.version),
        }
    }
}

/// Fills a store, or finds a filled one, and starts a server on it.
fn set_stage(database: &Database, n_accesses: u64) -> Result<Stage, Failure> {
    let (binary, shelf) = find_binary_and_shelf()?;
    let FilledStore { fleet, place } = fill_store(database, &binary, &shelf, n_accesses)?;
    let database_process_id = database.process_id();
    let server = place.serve()?;
    let token = place.issue_token("access:read")?;
    Ok(Stage { n_accesses, cases: cases::all(fleet), server, token, database_process_id })
}

fn fill_store(
    database: &Database,
    binary: &Path,
    shelf: &Path,
    n_accesses: u64,
) -> Result<FilledStore, Failure> {
    match database {
        Database::Sqlite => filled::sqlite(binary, shelf, n_accesses, now()),
        Database::Postgres { url, runtime, .. } => {
            filled::postgres(binary, shelf, url, n_accesses, now(), runtime)
        }
    }
}

/// What was measured on, in a sentence.
fn about(database: &Database, options: Options) -> String {
    let n_cores = thread::available_parallelism().map_or(1, usize::from);
    let (version, n_rounds) = (database.version(), options.n_rounds);
    format!(
        "{version}, {n_cores} cores for the server, its database and the clients; {} accesses before; \
         medians of {n_rounds} rounds.",
        report::with_commas(options.large_rows)
    )
}

/// The server's program, which cargo puts beside this one, and a directory for filled stores.
fn find_binary_and_shelf() -> Result<(PathBuf, PathBuf), Failure> {
    let own = env::current_exe()
        .map_err(|cause| Failure::Trouble(format!("this program can't be found: {cause}")))?;
    let binary = own.with_file_name("gatehouse");
    let target = own.parent().and_then(Path::parent).unwrap_or(Path::new("target"));
    if binary.is_file() {
        Ok((binary, target.join("bench")))
    } else {
        let binary = binary.display();
        Err(Failure::Usage(format!("no server at {binary}; use `cargo xtask bench`")))
    }
}

/// Shows the results and puts them where they are kept.
fn publish(name: &str, markdown: &str, json: &Value, options: Options) -> Result<(), Failure> {
    println!("{markdown}");

    // `cargo run` says where the package is now; what was compiled in serves a direct start.
    let package = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let results = package.join("results");
    write(&results.join(format!("{name}.md")), markdown)?;
    write(&results.join(format!("{name}.json")), &format!("{json:#}\n"))?;
    if !options.quick {
        let page = package.with_file_name("docs").join("performance.md");
        let text = fs::read_to_string(&page).map_err(|cause| trouble_with(&page, &cause))?;
        let text = report::replace_section(&text, name, markdown).ok_or_else(|| {
            Failure::Trouble(format!("{} has no place for {name}", page.display()))
        })?;
        write(&page, &text)?;
    }
    eprintln!("bench: the table and its JSON are in {}", results.display());
    Ok(())
}

fn conclude(n_missed: usize, options: Options) -> Result<(), Failure> {
    match n_missed {
        n if n > 0 && options.strict => Err(Failure::MissedGoals(n)),
        _ => Ok(()),
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let directory = path.parent().map_or(Ok(()), fs::create_dir_all);
    directory.and_then(|()| fs::write(path, text)).map_err(|cause| trouble_with(path, &cause))
}

fn trouble_with(path: &Path, cause: &io::Error) -> Failure {
    Failure::Trouble(format!("{}: {cause}", path.display()))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one look at the clock: creations are dated back from now"
)]
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or_default()
}
