//! The fields of a Task, its progress and its results.

use std::collections::BTreeMap;

use gatehouse_core::label::LabelPatch;
use gatehouse_core::lifecycle::TargetStatus;
use gatehouse_core::task::{
    CREATION, NewPasswords, TERMINATION, Task, TaskState, TaskWork, UPDATE,
};
use gatehouse_core::{LabelKey, LabelValue, TaskId, Timestamp};
use serde_json::{Value, json};

use super::batch::{OPERATION_TYPE, OperationType};
use super::label::LABEL_PATCH;
use super::problem::{self, reference_with};
use super::shape::{constant, count, job, list_of, one_of, reference, text};
use super::{Body, Object, Schema, access, may, must};
use crate::reader::{Field, Flag, Instant, Named, OneOf, Shape};

pub(crate) const ID: Field<Shape> = Field::new(
    "id",
    Shape(job),
    "The Task's identifier; accesses that the Task creates have it as `createdBy`",
)
.example("job-01a1dd4d-f0c1-7a3e-8b52-9f3d1c20e7aa");

pub(crate) const STATE: Field<Named<OneOf<TaskState>>> = Field::new(
    "state",
    Named("TaskState", OneOf { all: &TaskState::ALL, as_str: TaskState::as_str }),
    "",
);

pub(crate) const BASE_TYPE: Field<Shape> =
    Field::new("@baseType", Shape(|| constant("task")), "").example("task");

pub(crate) const TYPE: Field<Shape> =
    Field::new("@type", Shape(|| one_of(&[CREATION, UPDATE, TERMINATION])), "The kind of Task")
        .example(CREATION);

pub(crate) const PROGRESS: Field<Shape> =
    Field::new("x-progress", Shape(|| reference("Progress")), "");

pub(crate) const ACCESSES: Field<Shape> = Field::new(
    "accesses",
    Shape(|| list_of("UpdatedAccess")),
    "DONE and FAILED: the accesses of items that succeeded, in request order and in their present state; for a \
     token with `access:write`, with the password that the Task set, while the server keeps it and it is still valid",
);

pub(crate) const ERRORS: Field<Shape> = Field::new(
    "errors",
    Shape(|| list_of("TaskError")),
    "FAILED: the items that failed, in request order. REJECTED: the reason.",
);

pub(crate) const INDEX: Field<Shape> =
    Field::new("index", Shape(count), "The item's position in the request, from 0")
        .example_of(|| 1.into());

pub(crate) const ACCESS_ID: Field<Shape> =
    Field::new("accessId", Shape(text), "The access in the request");

pub(crate) const USERNAME: Field<Shape> =
    Field::new("username", Shape(text), "The username in the request").example("pump-7");

pub(crate) const DEVICE_NAME: Field<Shape> =
    Field::new("deviceName", Shape(text), "The name of the device in the request");

pub(crate) const TOTAL: Field<Shape> =
    Field::new("total", Shape(count), "Number of items of the Task").example_of(|| 1000.into());

pub(crate) const SUCCEEDED: Field<Shape> =
    Field::new("succeeded", Shape(count), "Number of items that have succeeded so far")
        .example_of(|| 250.into());

pub(crate) const FAILED: Field<Shape> =
    Field::new("failed", Shape(count), "Number of items that have failed so far")
        .example_of(|| 1.into());

pub(crate) const ACCEPTED_AT: Field<Instant> =
    Field::new("acceptedAt", Instant, "An extension: when the Task was accepted")
        .example("2026-11-14T09:12:08.512Z");

pub(crate) const STARTED_AT: Field<Instant> =
    Field::new("startedAt", Instant, "An extension: when the Task started; left out before")
        .example("2026-11-14T09:12:08.530Z");

pub(crate) const ENDED_AT: Field<Instant> =
    Field::new("endedAt", Instant, "An extension: when the Task ended; left out before");

pub(crate) const CHANGE: Field<Shape> =
    Field::new("change", Shape(|| reference("TaskChange")), "").example_of(|| change().example());

pub(crate) const ROTATES_PASSWORD: Field<Flag> = Field::new(
    "rotatesPassword",
    Flag,
    "Whether the accesses get a new password, which is never shown here",
)
.example_of(|| false.into());

pub(crate) const RESULT_STATE: Field<Shape> =
    Field::new("state", Shape(|| one_of(&["succeeded", "failed"])), "Whether the item succeeded")
        .example("failed");

pub(crate) const ACCESS: Field<Shape> =
    Field::new("access", Shape(|| reference("UpdatedAccess")), "");

pub(crate) const ERROR: Field<Shape> =
    Field::new("error", Shape(|| reference("TaskError")), "").example_of(error_example);

/// The fields of a Task in every response.
pub(crate) fn task_body(id: TaskId, state: TaskState, work: &TaskWork) -> Body {
    Body::default()
        .put(ID, id.to_string())
        .put(STATE, state.as_str())
        .put(BASE_TYPE, "task")
        .put(TYPE, work.as_str())
}

/// The progress of a Task, its times, and its change; never a password.
pub(crate) fn progress_body(task: &Task) -> Body {
    let change = match &task.work {
        TaskWork::Creation { .. } => None,
        TaskWork::Update { target, passwords, labels: LabelPatch(labels) } => {
            let pair = |(key, value): (&LabelKey, &Option<LabelValue>)| {
                (key.to_string(), value.as_ref().map(ToString::to_string))
            };
            let labels: BTreeMap<_, _> = labels.iter().map(pair).collect();
            Some(
                Body::default()
                    .put(OPERATION_TYPE, OperationType::Update.as_str())
                    .put_some(access::TARGET_STATUS, target.map(TargetStatus::as_str))
                    .put(ROTATES_PASSWORD, *passwords != NewPasswords::None)
                    .put_some(LABEL_PATCH, (!labels.is_empty()).then_some(labels)),
            )
        }
        TaskWork::Termination => {
            Some(Body::default().put(OPERATION_TYPE, OperationType::Terminate.as_str()))
        }
    };
    let shown = |at: Timestamp| at.to_string();
    Body::default()
        .put(TOTAL, task.n_items)
        .put(SUCCEEDED, task.n_succeeded)
        .put(FAILED, task.n_failed)
        .put(ACCEPTED_AT, shown(task.accepted_at))
        .put_some(STARTED_AT, task.started_at.map(shown))
        .put_some(ENDED_AT, task.ended_at.map(shown))
        .put_some(CHANGE, change)
}

fn shown(schema: &'static str, description: &'static str, state: &'static str) -> Object {
    let members = [must(ID), must(STATE.example(state)), must(BASE_TYPE), must(TYPE)];
    Object::response(schema, description, members)
}

fn progress() -> Object {
    Object::response(
        "Progress",
        "The progress of a Task",
        [
            must(TOTAL),
            must(SUCCEEDED),
            must(FAILED),
            must(ACCEPTED_AT),
            may(STARTED_AT),
            may(ENDED_AT),
            may(CHANGE),
        ],
    )
}

fn change() -> Object {
    let status = access::TARGET_STATUS.described("The accesses' new status, if the Task sets one");
    Object::response(
        "TaskChange",
        "An extension: the change that a Task makes to accesses",
        [
            must(OPERATION_TYPE.example("update")),
            may(status),
            may(ROTATES_PASSWORD),
            may(LABEL_PATCH.described("Changed labels, with `null` for removed ones")),
        ],
    )
}

fn error_example() -> Value {
    let mut error = problem::example(
        409,
        "Conflict",
        "Username taken",
        "username `pump-7` is taken by another access",
    );
    error[INDEX.name] = 1.into();
    error[USERNAME.name] = "pump-7".into();
    error
}

/// The schemas of Tasks.
pub(crate) fn schemas() -> Vec<Schema> {
    let state = json!({
        "type": "string", "enum": TaskState::ALL.map(TaskState::as_str),
        "description": "`ACKNOWLEDGED` and `IN_PROGRESS` Tasks are being processed; the others are final: all items \
            succeeded, some failed, nothing was done, the Task was stopped",
    });
    let table = json!({
        "type": "string",
        "description": "Comma-separated values (RFC 4180) with a header line",
    });
    let accesses = ACCESSES.example_of(|| json!([access::example()]));
    let errors = ERRORS.example_of(|| json!([error_example()]));
    let progress_member = PROGRESS.example_of(|| progress().example());
    let columns = access::COLUMNS.join(",");
    vec![
        Schema::new("TaskState", state),
        shown("Task", "An accepted batch", "ACKNOWLEDGED").into(),
        shown("ListedTask", "An accepted batch, and its progress", "IN_PROGRESS")
            .and([must(progress_member)])
            .into(),
        shown("TaskOutcome", "A Task, and its results", "FAILED")
            .and([may(accesses), may(errors)])
            .into(),
        reference_with(
            "TaskError",
            "The error of an item, or of the whole Task",
            [may(INDEX), may(ACCESS_ID), may(USERNAME), may(DEVICE_NAME)],
        ),
        progress().into(),
        change().into(),
        Object::response(
            "ItemResult",
            "The result of an item: an access, or an error",
            [must(INDEX), must(RESULT_STATE), may(ACCESS), may(ERROR)],
        )
        .into(),
        Schema::new("AccessTable", table).example(format!("{columns}\r\n")),
    ]
}
