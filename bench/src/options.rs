//! The bench's options, and the parser of its command line.

use crate::cases::CASES;
use crate::failure::Failure;
use crate::fleet::ROWS_STEP;
use crate::store_kind::StoreKind;

/// Accesses in the small store, which the large one is compared with.
pub(crate) const SMALL_ROWS: u64 = 10_000;

/// Accesses in the large store, unless the options say otherwise.
const LARGE_ROWS: u64 = 10_000_000;
const LARGE_ROWS_QUICK: u64 = 200_000;

/// Most accesses: more than this would fill most disks (35 GB).
const ROWS_MAX: u64 = 100_000_000;

/// Accesses for everything but lists.
const USUAL_ROWS: u64 = 1_000_000;
const USUAL_ROWS_QUICK: u64 = 200_000;

/// Cases that run before the memory of a server is measured.
const BEFORE_MEMORY: [u8; 6] = [1, 2, 3, 9, 10, 12];

/// Number of rounds of a measurement, and of time slices in each round. Slices are even, so that every runner goes first
/// equally often.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundPlan {
    pub(crate) n_rounds: usize,
    pub(crate) n_slices: usize,
}

/// One run, completely described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// A short run: shows that everything works, with rough figures.
    pub(crate) quick: bool,
    /// Whether a missed goal is a failure.
    pub(crate) strict: bool,
    /// Whether more CPU than in the stored results is a failure.
    pub(crate) check: bool,
    pub(crate) large_rows: u64,
    /// Cases to measure; empty for all.
    only: Vec<u8>,
    /// Store to measure; `None` for both.
    store: Option<StoreKind>,
}

impl Options {
    /// Whether the run measures a case on this store.
    pub(crate) fn want(&self, case: u8, kind: StoreKind) -> bool {
        (self.only.is_empty() || self.only.contains(&case))
            && self.store.is_none_or(|only| only == kind)
            && CASES.iter().any(|it| it.number == case && it.stores.contains(&kind))
    }

    /// Whether the run measures any of these cases on this store.
    pub(crate) fn want_any(&self, cases: &[u8], kind: StoreKind) -> bool {
        cases.iter().any(|case| self.want(*case, kind))
    }

    /// The stores that the run measures.
    pub(crate) fn stores(&self) -> impl Iterator<Item = StoreKind> {
        let all: Vec<u8> = CASES.iter().map(|it| it.number).collect();
        StoreKind::ALL.into_iter().filter(move |kind| self.want_any(&all, *kind))
    }

    /// Whether the large store has the default size.
    pub(crate) fn has_usual_rows(&self) -> bool {
        self.large_rows == usual_large_rows(self.quick)
    }

    /// Accesses for everything but lists.
    pub(crate) fn usual_rows(&self) -> u64 {
        if self.quick { USUAL_ROWS_QUICK } else { USUAL_ROWS }
    }

    /// Rounds and slices: `usual` rounds, or `quick` shorter ones in a quick run.
    pub(crate) fn round_plan(&self, usual: usize, quick: usize) -> RoundPlan {
        let n_slices = if self.quick { 2 } else { 4 };
        RoundPlan { n_rounds: self.rounds(usual, quick), n_slices }
    }

    /// The number `usual`, or `quick` in a quick run.
    pub(crate) fn rounds(&self, usual: usize, quick: usize) -> usize {
        if self.quick { quick } else { usual }
    }
}

/// Parses the command line's arguments.
pub(crate) fn parse(words: impl Iterator<Item = String>) -> Result<Options, Failure> {
    let mut words = words;
    let (mut quick, mut strict, mut check) = (false, false, false);
    let (mut rows, mut store, mut only) = (None, None, Vec::new());
    while let Some(word) = words.next() {
        let mut value = || {
            words.next().ok_or_else(|| Failure::Usage(format!("`{word}` needs a value behind it")))
        };
        match word.as_str() {
            "--quick" => quick = true,
            "--strict" => strict = true,
            "--check" => check = true,
            "--rows" => rows = Some(parse_rows(&value()?)?),
            "--store" => store = Some(parse_store(&value()?)?),
            "--only" => only = parse_cases(&value()?)?,
            unknown => {
                return Err(Failure::Usage(format!(
                    "no option `{unknown}`; use --quick, --check, --strict, --only, --store or --rows"
                )));
            }
        }
    }
    let large_rows = rows.unwrap_or(usual_large_rows(quick));
    let options = Options { quick, strict, check, large_rows, only, store };
    if options.only.contains(&13) && !BEFORE_MEMORY.iter().all(|case| options.only.contains(case)) {
        let why = "case 13 is what a server has after cases 1, 2, 3, 9, 10 and 12: \
                   use --only 1,2,3,9,10,12,13";
        return Err(Failure::Usage(why.to_owned()));
    }
    if options.stores().next().is_none() {
        let why = "none of these cases is measured on this store";
        return Err(Failure::Usage(why.to_owned()));
    }
    Ok(options)
}

fn usual_large_rows(quick: bool) -> u64 {
    if quick { LARGE_ROWS_QUICK } else { LARGE_ROWS }
}

fn parse_rows(text: &str) -> Result<u64, Failure> {
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
    StoreKind::ALL
        .into_iter()
        .find(|kind| kind.as_str() == text)
        .ok_or_else(|| Failure::Usage(format!("--store is sqlite or postgres, not `{text}`")))
}

/// Parses case numbers, separated by commas.
fn parse_cases(text: &str) -> Result<Vec<u8>, Failure> {
    let known = |word: &str| {
        let number = word.trim().parse().ok();
        number.filter(|number| CASES.iter().any(|case| case.number == *number))
    };
    text.split(',').map(known).collect::<Option<Vec<u8>>>().ok_or_else(|| {
        let last = CASES.len();
        Failure::Usage(format!("--only takes cases from 1 to {last}, as in 1,2,12, not `{text}`"))
    })
}

#[cfg(test)]
mod tests;
