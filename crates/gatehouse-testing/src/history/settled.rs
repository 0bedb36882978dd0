//! Everything that is there when the load is over and every Task has come to its end.

use serde_json::Value;

/// What a tenant has in the end.
#[derive(Debug, Default)]
pub struct Settled {
    /// All accesses, oldest first.
    pub accesses: Vec<Value>,
    /// How many there are, as each replica says.
    pub totals: Vec<u64>,
    /// The figures, as each replica gives them.
    pub summaries: Vec<Value>,
    /// All Tasks.
    pub tasks: Vec<SettledTask>,
    /// Whether a month has ended since the load began, and with it what was to end with the month.
    pub is_month_over: bool,
}

/// A Task that is over.
#[derive(Debug, Default)]
pub struct SettledTask {
    /// Its identifier.
    pub id: String,
    /// Its state.
    pub state: String,
    /// How far it came.
    pub progress: Value,
    /// Its items, in request order.
    pub items: Vec<Value>,
}

impl SettledTask {
    /// Accesses that it has made or changed.
    pub fn accesses(&self) -> impl Iterator<Item = &str> {
        self.items.iter().filter_map(|it| it["access"]["id"].as_str())
    }
}

/// Whether a Task that is shown so is over.
pub fn is_over(task: &Value) -> bool {
    !matches!(task["state"].as_str(), Some("ACKNOWLEDGED" | "IN_PROGRESS"))
}
