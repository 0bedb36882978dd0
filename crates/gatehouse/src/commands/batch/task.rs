//! A Task in the server's responses.

use clap::Args;
use gatehouse_core::TaskId;
use jiff::Timestamp;
use reqwest::Response;
use serde_json::{Value, json};

use crate::client::api::{TenantServer, rejection};
use crate::failure::{Failure, FailureKind};
use crate::terminal::output::{Column, Fit, text};
use crate::terminal::screen::harmless;

/// A batch named by the user.
#[derive(Args)]
pub(crate) struct TaskArg {
    /// Task ID of the batch, as `gatehouse batch list` shows it
    #[arg(value_name = "TASK")]
    task: String,
}

/// A Task as the server reports it.
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) state: String,
    /// `batchCreation`, `batchUpdate` or `batchTerminate`.
    pub(crate) kind: String,
    /// Why the server rejected the Task.
    pub(crate) errors: Vec<Value>,
    pub(crate) progress: Progress,
}

/// Counts of a Task's items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) total: u64,
    pub(crate) succeeded: u64,
    pub(crate) failed: u64,
    /// Whether the Task changes passwords of existing accesses.
    pub(crate) rotates_password: bool,
}

pub(crate) const LIST_COLUMNS: &[Column] = &[ID, STATE, KIND, ACCEPTED];

pub(crate) const COLUMNS: &[Column] = &[
    ID,
    STATE,
    KIND,
    ACCEPTED,
    Column::text("TOTAL", "total", Fit::Optional(1)),
    Column::text("SUCCEEDED", "succeeded", Fit::Optional(1)),
    Column::text("FAILED", "failed", Fit::Optional(1)),
    Column::text("FILE", "file", Fit::Optional(2)),
];

const ID: Column = Column::text("ID", "id", Fit::Whole);
const STATE: Column = Column::text("STATE", "state", Fit::Whole);
const KIND: Column = Column::computed("KIND", "type", |it| text(it, "@type"), Fit::Whole);
const ACCEPTED: Column = Column::computed_time(
    "ACCEPTED (UTC)",
    "accepted",
    |it| accepted(&text(it, "id")),
    Fit::Optional(0),
);

/// When a Task was accepted, taken from its ID.
pub(crate) fn accepted(id: &str) -> String {
    let milliseconds = id.parse::<TaskId>().ok().map(|id| id.unix_milliseconds());
    let milliseconds = milliseconds.and_then(|it| i64::try_from(it).ok());
    let time = milliseconds.and_then(|it| Timestamp::from_millisecond(it).ok());
    time.map(|it| it.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()).unwrap_or_default()
}

impl TaskArg {
    /// The ID, checked without a server.
    pub(crate) fn id(&self) -> Result<String, Failure> {
        let id = self.task.to_ascii_lowercase();
        match id.parse::<TaskId>() {
            Ok(_) => Ok(id),
            Err(_) => Err(Failure::input(format!(
                "`{}` is no Task: their IDs are like job-01a1df5b-a81e-7f70-ad36-39b2f2519770",
                self.task
            ))
            .advise("`gatehouse batch list` shows the batches")),
        }
    }
}

impl Task {
    /// The Task in the response that accepted it.
    pub(crate) fn accepted(body: &Value) -> Self {
        Self::from_base(body, Progress::default())
    }

    /// Reads a Task and its progress.
    pub(crate) async fn fetch(server: &TenantServer, id: &str) -> Result<Self, Failure> {
        let response = server.get(&["access", "batch", id]).stream().await?;
        let base = read_base(server, response).await?;
        let progress = server.get(&["access", "batch", id, "progress"]).success().await?.body;
        let count = |name: &str| progress.get(name).and_then(Value::as_u64).unwrap_or_default();
        let progress = Progress {
            total: count("total"),
            succeeded: count("succeeded"),
            failed: count("failed"),
            rotates_password: progress["change"]["rotatesPassword"] == true,
        };
        Ok(Self::from_base(&base, progress))
    }

    fn from_base(base: &Value, progress: Progress) -> Self {
        // They go to terminals, and into suggested commands.
        let text = |name: &str| harmless(&text(base, name)).into_owned();
        let errors = base.get("errors").and_then(Value::as_array).cloned().unwrap_or_default();
        Self { id: text("id"), state: text("state"), kind: text("@type"), errors, progress }
    }

    /// Whether the Task has ended.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.state.as_str(), "DONE" | "FAILED" | "REJECTED" | "TERMINATED")
    }

    /// Whether the server has a CSV of the Task.
    pub(crate) fn has_table(&self) -> bool {
        matches!(self.state.as_str(), "DONE" | "FAILED")
    }

    /// Whether the Task's accesses come with passwords.
    pub(crate) fn gives_passwords(&self) -> bool {
        self.kind == "batchCreation" || self.progress.rotates_password
    }

    /// The Task's fields to show, with the file of its accesses.
    pub(crate) fn shown(&self, file: Option<&str>) -> Value {
        let Progress { total, succeeded, failed, .. } = self.progress;
        let mut shown = json!({
            "id": self.id, "state": self.state, "@baseType": "task", "@type": self.kind
        });
        // A Task that was only just accepted has no counts.
        if total > 0 {
            shown["total"] = total.into();
            shown["succeeded"] = succeeded.into();
            shown["failed"] = failed.into();
        }
        if !self.errors.is_empty() {
            shown["errors"] = self.errors.clone().into();
        }
        if let Some(file) = file {
            shown["file"] = file.into();
        }
        shown
    }

    /// The exit code of a command that needs the Task to succeed.
    pub(crate) fn exit_result(&self, server: &TenantServer) -> Result<(), Failure> {
        let Self { id, progress, errors, .. } = self;
        let export = server.command(&format!("batch export {id}"));
        let failed = format!("{} of {} items failed", progress.failed, progress.total);
        match self.state.as_str() {
            "DONE" => Ok(()),
            "FAILED" => Err(Failure::new(FailureKind::Partial, failed)
                .advise(format!("`{export} --failed` writes all of them to a file"))),
            "REJECTED" => Err(rejection(errors.first().unwrap_or(&Value::Null))),
            "TERMINATED" => Err(Failure::new(
                FailureKind::Partial,
                format!(
                    "the batch was stopped when {} of {} were done",
                    progress.succeeded, progress.total
                ),
            )
            .advise(format!("`{export}` writes what it did to a file"))),
            other => {
                Err(Failure::from(format!("{id} is {other}, which this program doesn't know")))
            }
        }
    }

    /// The failure of a command that needs the Task to have ended.
    pub(crate) fn not_ended(&self, server: &TenantServer) -> Failure {
        let Self { id, state, .. } = self;
        let wait = server.command(&format!("batch wait {id}"));
        Failure::new(FailureKind::Refused, format!("{id} is {state}, and has not ended yet"))
            .advise(format!("`{wait}` waits for it"))
    }
}

/// Reads a Task's fields without its accesses, which come last and may be a hundred thousand.
async fn read_base(server: &TenantServer, mut response: Response) -> Result<Value, Failure> {
    let mut read = Vec::new();
    let broken = |error| server.server.broke_off(&error);
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        read.extend_from_slice(&chunk);
        if let Some(base) = before_accesses(&read) {
            return Ok(base);
        }
    }
    serde_json::from_slice(&read).map_err(|_| server.server.not_understood())
}

/// The Task's fields, as soon as the list of accesses begins.
pub(crate) fn before_accesses(read: &[u8]) -> Option<Value> {
    const LIST: &[u8] = br#","accesses":["#;
    let at = read.windows(LIST.len()).position(|it| it == LIST)?;
    let mut base = read[..at].to_vec();
    base.push(b'}');
    serde_json::from_slice(&base).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_parsed_before_its_accesses_are_read() {
        let base = r#"{"id":"job-1","state":"DONE","@baseType":"task","@type":"batchCreation""#;
        assert_eq!(before_accesses(base.as_bytes()), None);
        let begun = format!(r#"{base},"accesses":[{{"id":"#);
        assert_eq!(before_accesses(begun.as_bytes()).unwrap()["state"], "DONE");
    }

    #[test]
    fn a_task_id_has_the_time_of_acceptance() {
        assert_eq!(
            accepted("job-01a1df5b-a81e-7f70-ad36-39b2f2519770"),
            "2026-11-15T13:18:08.414Z"
        );
        assert_eq!(accepted("job-nonsense"), "");
    }
}
