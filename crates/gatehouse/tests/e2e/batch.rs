//! Batches as a client sees them: requesting one, following its Task, reading its result.

use super::process::*;
use reqwest::Method;
use serde_json::Value;

/// Counts of a Task's items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) total: u64,
    pub(crate) succeeded: u64,
    pub(crate) failed: u64,
}

impl Progress {
    pub(crate) fn n_processed(self) -> u64 {
        self.succeeded + self.failed
    }
}

pub(crate) fn has_ended(task: &Value) -> bool {
    !matches!(task["state"].as_str(), Some("ACKNOWLEDGED" | "IN_PROGRESS"))
}

pub(crate) fn text<'a>(of: &'a Value, name: &str) -> &'a str {
    of[name].as_str().unwrap_or_else(|| panic!("no `{name}` in {of}"))
}

/// Fails a test that waits in vain.
pub(crate) struct Wait {
    began: std::time::Instant,
    what: String,
}

impl Wait {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { began: std::time::Instant::now(), what: what.into() }
    }

    pub(crate) fn check_limit(&self) {
        assert!(self.began.elapsed() < WAIT_LIMIT, "waited in vain: {}", self.what);
    }
}

impl Server {
    /// Requests a batch of creations (`batch`) or of changes (`batchUpdate`); returns the Task's identifier.
    pub(crate) async fn batch(&self, tenant: &str, which: &str, body: &Value) -> String {
        let path = format!("/{tenant}/access/{which}");
        let (status, task) = self.json(Method::POST, &path, Some(&body.to_string())).await;
        assert_eq!(status, 202, "{task}");
        text(&task, "id").to_owned()
    }

    pub(crate) async fn progress(&self, tenant: &str, task: &str) -> Progress {
        let (status, at) = self.json(Method::GET, &progress_path(tenant, task), None).await;
        assert_eq!(status, 200, "{at}");
        read_progress(&at)
    }

    /// Waits until a Task has processed `n_items`.
    pub(crate) async fn until_processed(&self, tenant: &str, task: &str, n_items: u64) {
        let wait = Wait::new(format!("{tenant}'s {task} has done {n_items}"));
        while self.progress(tenant, task).await.n_processed() < n_items {
            wait.check_limit();
        }
    }

    /// The Task with its result, when it has ended.
    pub(crate) async fn until_ended(&self, tenant: &str, task: &str) -> Value {
        let path = format!("/{tenant}/access/batch/{task}");
        let wait = Wait::new(format!("{tenant}'s {task} has ended"));
        loop {
            let (status, shown) = self.json(Method::GET, &path, None).await;
            assert_eq!(status, 200, "{shown}");
            if has_ended(&shown) {
                return shown;
            }
            wait.check_limit();
        }
    }

    /// All items of a list; asserts the announced total.
    pub(crate) async fn all(&self, path: &str) -> Vec<Value> {
        let (mut things, separator) = (Vec::new(), if path.contains('?') { '&' } else { '?' });
        for number in 1_usize.. {
            let page = format!("{path}{separator}pageSize=1000&pageNumber={number}");
            let response = self.ask(Method::GET, &page, None).await;
            assert_eq!(response.status(), 200, "{page}");
            let total = response.headers()["x-total-count"].to_str().unwrap().parse().unwrap();
            let more: Vec<Value> = response.json().await.unwrap();
            things.extend(more);
            if number * 1000 >= total {
                assert_eq!(things.len(), total, "{path}");
                break;
            }
        }
        things
    }
}

pub(crate) fn progress_path(tenant: &str, task: &str) -> String {
    format!("/{tenant}/access/batch/{task}/progress")
}

fn read_progress(at: &Value) -> Progress {
    let n = |name: &str| at[name].as_u64().unwrap_or_else(|| panic!("no `{name}` in {at}"));
    Progress { total: n("total"), succeeded: n("succeeded"), failed: n("failed") }
}
