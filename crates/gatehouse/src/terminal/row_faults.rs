//! What is wrong with what came in, row by row: all of it is told at once, and nothing is sent.

use crate::failure::Failure;

/// So many faults are told.
const TOLD_MAX: usize = 20;

/// Faults of a file, each with its line.
pub(crate) struct RowFaults {
    source: String,
    faults: Vec<String>,
}

impl RowFaults {
    pub(crate) fn of(source: &str) -> Self {
        Self { source: source.to_owned(), faults: Vec::new() }
    }

    pub(crate) fn add(&mut self, line: u64, fault: impl std::fmt::Display) {
        self.faults.push(format!("line {line}: {fault}"));
    }

    /// Nothing, or why nothing was sent.
    pub(crate) fn none(self) -> Result<(), Failure> {
        if self.faults.is_empty() {
            return Ok(());
        }
        let n = self.faults.len();
        let told: String =
            self.faults.iter().take(TOLD_MAX).map(|it| format!("\n    {it}")).collect();
        let rest = match n.saturating_sub(TOLD_MAX) {
            0 => String::new(),
            rest => format!("\n    … and {rest} more"),
        };
        let faults = if n == 1 { "a fault" } else { "faults" };
        let said = format!("{} has {faults}, and nothing was sent:{told}{rest}", self.source);
        Err(Failure::input(said))
    }
}
