//! Checks whether one store that loses nothing and does nothing twice can have produced a history.
//!
//! Every check is a pure function of the recorded calls and of the final state. It returns faults as sentences; no
//! sentences means no fault.

mod answers;
mod creations;
mod tasks;
#[cfg(test)]
mod tests;
mod totals;
mod values;

use super::call::Call;
use super::settled::Settled;

/// All contradictions of a history. The tenants are in the order of their numbers.
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
