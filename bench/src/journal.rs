//! Case 17: the journal. Changes that write events, against the same on a server without a journal; and pages of events,
//! against a page of accesses.
//!
//! An event counts once it has a number, so every figure includes numbering and chaining.

mod changes;
mod pages;
mod size;

use crate::database::Database;
use crate::failure::Failure;
use crate::filled;
use crate::fixture::{Fixture, Setup};
use crate::result_line::ResultLine;
use size::JournalFile;

/// Two servers on equally filled stores.
pub(crate) struct Pair {
    pub(crate) with_journal: Fixture,
    pub(crate) without: Fixture,
}

pub(crate) fn measure(setup: &Setup, database: &Database) -> Result<Vec<ResultLine>, Failure> {
    let options = &setup.options;
    let filled = setup.fill(database, options.usual_rows())?;
    let own = filled::copy(setup, database, &filled, "journal")?;
    let file = JournalFile::of(database, &own.instance);
    let without = filled::copy(setup, database, &filled, "without_journal")?;
    let pair = Pair {
        with_journal: Fixture::start(database, own)?,
        without: Fixture::start_without_journal(database, without)?,
    };
    let batches = changes::batches(&pair, &file, options.rounds(4, 2))?;
    let mut lines = batches.lines;
    let singles = changes::singles(&pair, options)?;
    lines.extend(singles.lines);
    let first_events =
        [("of a batch", batches.first_event), ("of single changes", singles.first_event)];
    lines.extend(pages::measure(&pair.with_journal, first_events, options.round_plan(15, 3))?);
    pair.with_journal.stop()?;
    pair.without.stop()?;
    Ok(lines)
}
