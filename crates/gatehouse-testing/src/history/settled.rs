//! The final state, after the load and the end of every Task.

use serde_json::Value;

/// The final state of a tenant.
#[derive(Debug, Default)]
pub struct Settled {
    /// All accesses, oldest first.
    pub accesses: Vec<Value>,
    /// Number of accesses, as each replica reports it.
    pub totals: Vec<u64>,
    /// The summary, as each replica reports it.
    pub summaries: Vec<Value>,
    /// All Tasks.
    pub tasks: Vec<SettledTask>,
    /// Whether a month has ended since the start of the load, and with it the planned terminations.
    pub is_month_over: bool,
}

/// An ended Task.
#[derive(Debug, Default)]
pub struct SettledTask {
    /// The Task's identifier.
    pub id: String,
    /// The Task's state.
    pub state: String,
    /// The Task's progress.
    pub progress: Value,
    /// The Task's items, in request order.
    pub items: Vec<Value>,
}

impl SettledTask {
    /// Accesses that the Task has created or changed.
    pub fn accesses(&self) -> impl Iterator<Item = &str> {
        self.items.iter().filter_map(|it| it["access"]["id"].as_str())
    }
}

/// Whether a Task in this response has ended.
pub fn is_over(task: &Value) -> bool {
    !matches!(task["state"].as_str(), Some("ACKNOWLEDGED" | "IN_PROGRESS"))
}
