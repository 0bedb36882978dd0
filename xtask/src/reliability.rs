//! The table of docs/reliability.md: every fault that tests have injected, how often, and what held.
//!
//! Tests append a line for each fault to a record, a file; `cargo xtask test --long` writes the record into the document.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The document with the table.
const DOCUMENT: &str = "docs/reliability.md";

const BEGIN: &str = "<!-- record -->\n";
const END: &str = "<!-- end of record -->";

const HEADING: &str = "| fault | tried | what held, each time |\n|---|---:|---|\n";

/// Makes an empty record for the tests of this run; returns its path.
pub(crate) fn begin_record(target: &Path) -> Result<PathBuf, Failure> {
    let path = target.join("reliability.tsv");
    let begun = fs::create_dir_all(target).and_then(|()| fs::write(&path, ""));
    begun.map_err(|cause| Failure::Trouble(format!("{}: {cause}", path.display())))?;
    Ok(path)
}

/// Replaces the document's table with the faults in the record.
pub(crate) fn write_document(record: &Path) -> Result<(), Failure> {
    let failed = |cause: std::io::Error| Failure::Trouble(format!("{DOCUMENT}: {cause}"));
    let record = fs::read_to_string(record).map_err(failed)?;
    let document = fs::read_to_string(DOCUMENT).map_err(failed)?;
    let document = with_table(&document, &table(&record))
        .ok_or_else(|| Failure::Trouble(format!("{DOCUMENT} has no marks around its table")))?;
    fs::write(DOCUMENT, document).map_err(failed)
}

fn with_table(document: &str, table: &str) -> Option<String> {
    let (before, rest) = document.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{table}{END}{after}"))
}

/// A table with a row for each fault, sorted by name. Counts of several tests are added up.
fn table(record: &str) -> String {
    let mut rows: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for line in record.lines() {
        let mut parts = line.split('\t');
        if let (Some(fault), Some(n), Some(held)) = (parts.next(), parts.next(), parts.next()) {
            *rows.entry((fault, held)).or_default() += n.parse::<u64>().unwrap_or_default();
        }
    }
    let rows = rows.iter().map(|((fault, held), n)| format!("| {fault} | {n} | {held} |\n"));
    HEADING.to_owned() + &rows.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_becomes_the_table() {
        let document = format!("before\n{BEGIN}old\n{END}\nafter\n");
        let record = "b\t2\theld\na\t1\theld\nb\t3\theld\n";
        let written = with_table(&document, &table(record)).unwrap();
        let expected = "| a | 1 | held |\n| b | 5 | held |\n";
        assert_eq!(written, format!("before\n{BEGIN}{HEADING}{expected}{END}\nafter\n"));
        assert_eq!(with_table("no marks", ""), None);
    }
}
