//! Faults of an input file, line by line: all are reported at once, and nothing is sent.

use crate::failure::Failure;

/// Most faults that are shown.
const SHOWN_MAX: usize = 20;

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

    /// Fails with the faults, if there are any.
    pub(crate) fn into_result(self) -> Result<(), Failure> {
        if self.faults.is_empty() {
            return Ok(());
        }
        let n = self.faults.len();
        let shown: String =
            self.faults.iter().take(SHOWN_MAX).map(|it| format!("\n    {it}")).collect();
        let rest = match n.saturating_sub(SHOWN_MAX) {
            0 => String::new(),
            rest => format!("\n    … and {rest} more"),
        };
        let faults = if n == 1 { "a fault" } else { "faults" };
        let message = format!("{} has {faults}, and nothing was sent:{shown}{rest}", self.source);
        Err(Failure::input(message))
    }
}
