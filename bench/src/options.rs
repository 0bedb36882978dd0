//! What can be asked of the bench, and how a command line is read into it.

use crate::failure::Failure;
use crate::fleet::ROWS_STEP;

/// Accesses in the small store, which the large one is compared with.
pub(crate) const SMALL_ROWS: u64 = 10_000;

/// Accesses in the large store, unless the options say otherwise.
const LARGE_ROWS: u64 = 10_000_000;
const LARGE_ROWS_QUICK: u64 = 1_000_000;

/// More than this would fill most disks: 35 GB.
const ROWS_MAX: u64 = 100_000_000;

const ROUNDS: usize = 15;
const ROUNDS_QUICK: usize = 5;

/// Accesses that are there before batches and single creations add theirs, and how often each batch is made.
const ROWS_BEFORE_BATCHES: u64 = 1_000_000;
const ROWS_BEFORE_BATCHES_QUICK: u64 = 100_000;
const BATCH_ROUNDS: usize = 5;
const BATCH_ROUNDS_QUICK: usize = 1;

/// How often each way to make accesses one by one has its turn.
const CREATION_ROUNDS: usize = 7;
const CREATION_ROUNDS_QUICK: usize = 1;

/// How often products are asked for in each way.
const PRODUCT_ROUNDS: usize = 15;
const PRODUCT_ROUNDS_QUICK: usize = 3;

/// Chosen passwords in a batch: some twenty seconds of hashing on two cores.
const PASSWORDS: u32 = 2_000;

/// As many as the server takes in one batch.
const PASSWORDS_MAX: u32 = 100_000;

/// One measurement, completely described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Less of everything: to see that it works, not to keep the numbers.
    pub(crate) quick: bool,
    /// A missed goal is a failure.
    pub(crate) strict: bool,
    pub(crate) large_rows: u64,
    pub(crate) n_rounds: usize,
    pub(crate) store: StoreKind,
    pub(crate) subject: Subject,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// Pages of lists, on the large store and on the small one.
    Lists,
    /// Batches, on the large store.
    Batches {
        /// Chosen passwords in those that bring some.
        n_passwords: u32,
    },
    /// Accesses that many clients make one by one, on several servers, on the large store.
    Creations,
    /// Products of simulated platforms, on an empty store.
    Products,
}

/// Where the accesses are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreKind {
    Sqlite,
    Postgres,
}

impl StoreKind {
    /// The name in options and file names.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}

/// Reads the words after the program's name.
pub(crate) fn parse(words: impl Iterator<Item = String>) -> Result<Options, Failure> {
    let mut words = words;
    let (mut quick, mut strict, mut rows, mut store) = (false, false, None, StoreKind::Sqlite);
    let (mut batches, mut products, mut n_passwords) = (false, false, PASSWORDS);
    let (mut creations, mut is_store_named) = (false, false);
    while let Some(word) = words.next() {
        let mut value = || {
            words.next().ok_or_else(|| Failure::Usage(format!("`{word}` needs a value behind it")))
        };
        match word.as_str() {
            "--quick" => quick = true,
            "--strict" => strict = true,
            "--rows" => rows = Some(parse_rows(&value()?)?),
            "--store" => (store, is_store_named) = (parse_store(&value()?)?, true),
            "--creations" => creations = true,
            "--batches" => batches = true,
            "--products" => products = true,
            "--passwords" => n_passwords = parse_passwords(&value()?)?,
            unknown => {
                return Err(Failure::Usage(format!(
                    "no option `{unknown}`; use --quick, --strict, --rows, --store, \
                     --batches, --passwords, --creations or --products"
                )));
            }
        }
    }
    if creations {
        if batches || products || is_store_named {
            let why = "--creations are measured by themselves, and on PostgreSQL; leave --batches, \
                       --products and --store away";
            return Err(Failure::Usage(why.to_owned()));
        }
        store = StoreKind::Postgres;
    }
    let subject = match (batches, products) {
        (false, false) if creations => Subject::Creations,
        (false, false) => Subject::Lists,
        (true, false) => Subject::Batches { n_passwords },
        (false, true) if store == StoreKind::Sqlite && rows.is_none() => Subject::Products,
        (false, true) => {
            let why = "--products needs no accesses and is measured on SQLite; \
                       leave --rows and --store away";
            return Err(Failure::Usage(why.to_owned()));
        }
        (true, true) => {
            let why = "--batches and --products are measured one at a time; leave one away";
            return Err(Failure::Usage(why.to_owned()));
        }
    };
    let (usual_rows, n_rounds) = match (subject, quick) {
        (Subject::Lists, false) => (LARGE_ROWS, ROUNDS),
        (Subject::Lists, true) => (LARGE_ROWS_QUICK, ROUNDS_QUICK),
        (Subject::Batches { .. }, false) => (ROWS_BEFORE_BATCHES, BATCH_ROUNDS),
        (Subject::Batches { .. }, true) => (ROWS_BEFORE_BATCHES_QUICK, BATCH_ROUNDS_QUICK),
        (Subject::Creations, false) => (ROWS_BEFORE_BATCHES, CREATION_ROUNDS),
        (Subject::Creations, true) => (ROWS_BEFORE_BATCHES_QUICK, CREATION_ROUNDS_QUICK),
        (Subject::Products, false) => (0, PRODUCT_ROUNDS),
        (Subject::Products, true) => (0, PRODUCT_ROUNDS_QUICK),
    };
    Ok(Options { quick, strict, large_rows: rows.unwrap_or(usual_rows), n_rounds, store, subject })
}

fn parse_passwords(text: &str) -> Result<u32, Failure> {
    text.parse().ok().filter(|n| (1..=PASSWORDS_MAX).contains(n)).ok_or_else(|| {
        Failure::Usage(format!("--passwords must be 1 to {PASSWORDS_MAX}, not `{text}`"))
    })
}

fn parse_rows(text: &str) -> Result<u64, Failure> {
    // The same number as the small store's would compare a store with itself.
    match text.parse::<u64>() {
        Ok(rows) if rows > SMALL_ROWS && rows <= ROWS_MAX && rows.is_multiple_of(ROWS_STEP) => {
            Ok(rows)
        }
        _ => Err(Failure::Usage(format!(
            "--rows must be a multiple of {ROWS_STEP} above {SMALL_ROWS}, up to {ROWS_MAX}, \
             not `{text}`"
        ))),
    }
}

fn parse_store(text: &str) -> Result<StoreKind, Failure> {
    [StoreKind::Sqlite, StoreKind::Postgres]
        .into_iter()
        .find(|kind| kind.as_str() == text)
        .ok_or_else(|| Failure::Usage(format!("--store is sqlite or postgres, not `{text}`")))
}

#[cfg(test)]
mod tests;
