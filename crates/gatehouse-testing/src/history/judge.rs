//! Whether a history can have happened to one store that loses nothing and does nothing twice.
//!
//! Everything here is a pure function of what was recorded and of what is there in the end. What it finds are
//! sentences; without any, nothing was found.

mod answers;
mod creations;
mod tasks;
#[cfg(test)]
mod tests;
mod totals;
mod values;

use super::call::Call;
use super::settled::Settled;

/// Everything that can't be. The tenants are in the order of their numbers.
pub fn judge(history: &[Call], settled: &[Settled]) -> Vec<String> {
    let mut faults = answers::judge(history);
    for (tenant, settled) in settled.iter().enumerate() {
        let calls: Vec<&Call> = history.iter().filter(|it| it.tenant == tenant).collect();
        faults.extend(creations::judge(&calls, settled));
        faults.extend(tasks::judge(&calls, settled));
        faults.extend(totals::judge(&calls, settled));
        faults.extend(values::judge(&calls, settled));
    }
    faults
}
