//! A Task, as the server tells of it.

use clap::Args;
use gatehouse_core::TaskId;
use jiff::Timestamp;
use reqwest::Response;
use serde_json::{Value, json};

use crate::client::api::TenantServer;
use crate::failure::{Failure, Kind};
use crate::terminal::output::{Column, Room, text};
use crate::terminal::screen::harmless;

/// A batch, as a person names it.
#[derive(Args)]
pub(crate) struct Named {
    /// The batch: the ID of its Task, such as `gatehouse batch list` shows
    #[arg(value_name = "TASK")]
    task: String,
}

/// A Task as it is now.
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) state: String,
    /// `batchCreation`, `batchUpdate` or `batchTerminate`.
    pub(crate) kind: String,
    /// Why it was rejected, if it was.
    pub(crate) errors: Vec<Value>,
    pub(crate) progress: Progress,
}

/// How far a Task is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) total: u64,
    pub(crate) succeeded: u64,
    pub(crate) failed: u64,
    /// Whether it gives passwords to accesses that are there.
    pub(crate) rotates_password: bool,
}

/// What a list shows of a Task.
pub(crate) const LIST_COLUMNS: &[Column] = &[ID, STATE, KIND, ACCEPTED];

/// What is shown of one Task.
pub(crate) const COLUMNS: &[Column] = &[
    ID,
    STATE,
    KIND,
    ACCEPTED,
    Column::text("TOTAL", "total", Room::IfLeft(1)),
    Column::text("SUCCEEDED", "succeeded", Room::IfLeft(1)),
    Column::text("FAILED", "failed", Room::IfLeft(1)),
    Column::text("FILE", "file", Room::IfLeft(2)),
];

const ID: Column = Column::text("ID", "id", Room::Whole);
const STATE: Column = Column::text("STATE", "state", Room::Whole);
const KIND: Column = Column::made("KIND", "type", |it| text(it, "@type"), Room::Whole);
const ACCEPTED: Column = Column::made_time(
    "ACCEPTED (UTC)",
    "accepted",
    |it| accepted(&text(it, "id")),
    Room::IfLeft(0),
);

/// When a Task was accepted: its ID says so.
fn accepted(id: &str) -> String {
    let milliseconds = id.parse::<TaskId>().ok().map(|id| id.unix_milliseconds());
    let milliseconds = milliseconds.and_then(|it| i64::try_from(it).ok());
    let time = milliseconds.and_then(|it| Timestamp::from_millisecond(it).ok());
    time.map(|it| it.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()).unwrap_or_default()
}

impl Named {
    /// The ID, which is checked here: a mistyped one needs no server.
    pub(crate) fn id(&self) -> Result<String, Failure> {
        let id = self.task.to_ascii_lowercase();
        match id.parse::<TaskId>() {
            Ok(_) => Ok(id),
            Err(_) => Err(Failure::input(format!(
                "`{}` is no Task: their IDs are like job-01a1df5b-a81e-7f70-ad36-39b2f2519770",
                self.task
            ))
            .advise("`gatehouse batch list` shows those that there are")),
        }
    }
}

impl Task {
    /// The Task as it was accepted.
    pub(crate) fn accepted(body: &Value) -> Self {
        Self::from_base(body, Progress::default())
    }

    /// Asks for a Task and how far it is.
    pub(crate) async fn look(server: &TenantServer, id: &str) -> Result<Self, Failure> {
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
        // They go to terminals, and into commands that are suggested.
        let text = |name: &str| harmless(&text(base, name)).into_owned();
        let errors = base.get("errors").and_then(Value::as_array).cloned().unwrap_or_default();
        Self { id: text("id"), state: text("state"), kind: text("@type"), errors, progress }
    }

    /// Whether nothing happens to it any more.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state.as_str(), "DONE" | "FAILED" | "REJECTED" | "TERMINATED")
    }

    /// Whether the server makes a table of it.
    pub(crate) fn has_table(&self) -> bool {
        matches!(self.state.as_str(), "DONE" | "FAILED")
    }

    /// Whether its accesses come with passwords.
    pub(crate) fn gives_passwords(&self) -> bool {
        self.kind == "batchCreation" || self.progress.rotates_password
    }

    /// What is shown of it, with the file that its accesses went to.
    pub(crate) fn shown(&self, file: Option<&str>) -> Value {
        let Progress { total, succeeded, failed, .. } = self.progress;
        let mut shown = json!({
            "id": self.id, "state": self.state, "@baseType": "task", "@type": self.kind
        });
        // What was only just accepted has not been asked how far it is.
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

    /// Why it is no good to fetch anything from it.
    pub(crate) fn not_over(&self, server: &TenantServer) -> Failure {
        let Self { id, state, .. } = self;
        let wait = server.command(&format!("batch wait {id}"));
        Failure::new(Kind::Refused, format!("{id} is {state}, and not over yet"))
            .advise(format!("`{wait}` waits for it"))
    }
}

/// Reads what a Task says of itself, and leaves out its accesses: there may be a hundred thousand of them, and they come
/// behind the rest.
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

/// What stands in front of the list of accesses, as soon as that begins.
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
    fn a_task_is_known_before_its_accesses_are_read() {
        let base = r#"{"id":"job-1","state":"DONE","@baseType":"task","@type":"batchCreation""#;
        assert_eq!(before_accesses(base.as_bytes()), None);
        let begun = format!(r#"{base},"accesses":[{{"id":"#);
        assert_eq!(before_accesses(begun.as_bytes()).unwrap()["state"], "DONE");
    }

    #[test]
    fn an_id_tells_when_it_was_accepted() {
        assert_eq!(
            accepted("job-01a1df5b-a81e-7f70-ad36-39b2f2519770"),
            "2026-11-15T13:18:08.414Z"
        );
        assert_eq!(accepted("job-nonsense"), "");
    }
}
