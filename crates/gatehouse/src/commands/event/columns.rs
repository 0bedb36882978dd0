//! An event as a row.

use serde_json::Value;

use crate::client::label;
use crate::terminal::output::{Column, Fit, minute, second, text};

pub(super) const COLUMNS: &[Column] = &[
    NUMBER,
    Column::computed("TIME (UTC)", "eventTime", time, Fit::Whole),
    Column::computed("WHAT", "what", subject, Fit::Cut(12)),
    Column::computed("CHANGE", "change", change, Fit::Cut(16)),
    Column::computed("BY", "by", cause, Fit::Cut(8)),
    Column::text("TYPE", "eventType", Fit::Optional(0)),
    Column::computed("ACCESS", "accessId", |event| of_access(event, "id"), Fit::CsvOnly),
    Column::computed("CONTRACT", "contractId", |it| of_access(it, "contractId"), Fit::CsvOnly),
    Column::computed("TASK", "taskId", task, Fit::CsvOnly),
    Column::text("VERSION", "x-version", Fit::CsvOnly),
    Column::text("CORRELATION ID", "correlationId", Fit::CsvOnly),
    Column::text("ID", "eventId", Fit::CsvOnly),
];

const NUMBER: Column = Column::text("NUMBER", "x-number", Fit::Whole);

/// An event as a line of text.
pub(super) fn line(event: &Value) -> String {
    let [number, time, subject] = [text(event, "x-number"), time(event), subject(event)];
    format!("{number}  {time}  {subject}  {}  by {}", change(event), cause(event))
}

/// The event's time to the second.
pub(in crate::commands) fn time(event: &Value) -> String {
    second(&text(event, "eventTime"))
}

/// The name of the access, or the identifier of the Task.
fn subject(event: &Value) -> String {
    match (of_access(event, "name"), of_task(event, "id")) {
        (name, task) if name.is_empty() && task.is_empty() => "journal".to_owned(),
        (name, task) if name.is_empty() => task,
        (name, _) => name,
    }
}

fn change(event: &Value) -> String {
    match text(event, "eventType").as_str() {
        "AccessCreateEvent" => format!("created {}", of_access(event, "status")).trim().to_owned(),
        "TaskStateChangeEvent" => {
            let [state, total, failed] =
                ["state", "total", "failed"].map(|name| of_task(event, name));
            match (state.as_str(), failed.as_str()) {
                ("DONE" | "FAILED", "0" | "") => format!("{state}, {total} items"),
                ("DONE" | "FAILED", _) => format!("{state}, {failed} of {total} items failed"),
                _ => state,
            }
        }
        "JournalStartEvent" => "begins".to_owned(),
        _ => {
            let names = event["x-changed"].as_array().map_or(&[][..], Vec::as_slice);
            let changes = names.iter().filter_map(Value::as_str).map(|it| changed(event, it));
            changes.collect::<Vec<_>>().join(", ")
        }
    }
}

/// A changed field, with its value where an event has it.
fn changed(event: &Value, name: &str) -> String {
    let access = &event["event"]["access"];
    match (name, access.get(name)) {
        ("status", Some(_)) => text(access, name),
        ("startDateTime", Some(_)) => format!("starts {}", minute(&text(access, name))),
        ("endDateTime", Some(Value::String(end))) => format!("ends {}", minute(end)),
        // A whole access without an end has no such field.
        ("endDateTime", _) => "no end".to_owned(),
        ("labels", _) => format!("labels {}", label::shown(access)).trim().to_owned(),
        ("firstConnection", _) => "first connection".to_owned(),
        ("plannedTermination", _) => "planned termination".to_owned(),
        _ => name.to_owned(),
    }
}

/// The token's subject, the Task, or the server itself.
pub(in crate::commands) fn cause(event: &Value) -> String {
    let origin = &event["x-origin"];
    let [kind, subject, task] = ["kind", "subject", "taskId"].map(|name| text(origin, name));
    match kind.as_str() {
        "request" if !subject.is_empty() => subject,
        "task" => task,
        "" => "server".to_owned(),
        _ => kind,
    }
}

/// The Task that has changed, or that caused the change.
fn task(event: &Value) -> String {
    match of_task(event, "id") {
        id if id.is_empty() => text(&event["x-origin"], "taskId"),
        id => id,
    }
}

fn of_access(event: &Value, name: &str) -> String {
    text(&event["event"]["access"], name)
}

fn of_task(event: &Value, name: &str) -> String {
    text(&event["event"]["task"], name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(event_type: &str, changed: Value, subject: Value, origin: Value) -> Value {
        json!({
            "eventType": event_type, "x-number": 7, "eventTime": "2026-11-16T12:30:05.123Z",
            "x-changed": changed, "event": subject, "x-origin": origin,
        })
    }

    #[test]
    fn a_line_says_what_changed_and_by_whom() {
        let access = |fields: Value| {
            let mut access = json!({"name": "pump-7", "id": "a"});
            access.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            json!({"access": access})
        };
        let task = |state: &str, failed: u64| json!({"task": {"id": "job-1", "state": state, "total": 9, "succeeded": 1, "failed": failed}});
        let by = || json!({"kind": "request", "subject": "ops"});
        for (event_type, changed, subject, origin, expected) in [
            (
                "AccessCreateEvent",
                json!(null),
                access(json!({"status": "ACTIVE"})),
                by(),
                "pump-7  created ACTIVE  by ops",
            ),
            (
                "AccessStateChangeEvent",
                json!(["status"]),
                access(json!({"status": "SUSPENDED"})),
                json!({"kind": "task", "taskId": "job-1"}),
                "pump-7  SUSPENDED  by job-1",
            ),
            (
                "AccessAttributeValueChangeEvent",
                json!(["endDateTime", "labels", "password"]),
                access(
                    json!({"endDateTime": "2027-01-01T00:00:00.000Z", "labels": {"site": "kiel"}}),
                ),
                by(),
                "pump-7  ends 2027-01-01 00:00, labels site=kiel, password  by ops",
            ),
            (
                "AccessAttributeValueChangeEvent",
                json!(["endDateTime", "labels"]),
                access(json!({"endDateTime": null, "labels": {}})),
                by(),
                "pump-7  no end, labels  by ops",
            ),
            (
                "AccessStateChangeEvent",
                json!(["status"]),
                access(json!({"status": "TERMINATED"})),
                json!({"kind": "expiry"}),
                "pump-7  TERMINATED  by expiry",
            ),
            (
                "TaskStateChangeEvent",
                json!(null),
                task("IN_PROGRESS", 0),
                by(),
                "job-1  IN_PROGRESS  by ops",
            ),
            (
                "TaskStateChangeEvent",
                json!(null),
                task("DONE", 0),
                by(),
                "job-1  DONE, 9 items  by ops",
            ),
            (
                "TaskStateChangeEvent",
                json!(null),
                task("FAILED", 2),
                by(),
                "job-1  FAILED, 2 of 9 items failed  by ops",
            ),
            (
                "JournalStartEvent",
                json!(null),
                json!({}),
                json!(null),
                "journal  begins  by server",
            ),
        ] {
            let event = event(event_type, changed, subject, origin);
            assert_eq!(line(&event), format!("7  2026-11-16 12:30:05  {expected}"));
        }
    }
}
