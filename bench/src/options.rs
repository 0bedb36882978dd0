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
    while let Some(word) = words.next() {
        let mut value = || {
            words.next().ok_or_else(|| Failure::Usage(format!("`{word}` needs a value behind it")))
        };
        match word.as_str() {
            "--quick" => quick = true,
            "--strict" => strict = true,
            "--rows" => rows = Some(parse_rows(&value()?)?),
            "--store" => store = parse_store(&value()?)?,
            unknown => {
                return Err(Failure::Usage(format!(
                    "no option `{unknown}`; use --quick, --strict, --rows or --store"
                )));
            }
        }
    }
    let (usual_rows, n_rounds) =
        if quick { (LARGE_ROWS_QUICK, ROUNDS_QUICK) } else { (LARGE_ROWS, ROUNDS) };
    Ok(Options { quick, strict, large_rows: rows.unwrap_or(usual_rows), n_rounds, store })
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
