//! `/{tenantName}/access/batch/{taskId}` and below: the results of a batch.
//!
//! An ended Task may have very many accesses. Its response is streamed, some items at a time, so that it holds neither
//! much memory nor a transaction, even for a slow client.

use gatehouse_core::rights::Scope;
use gatehouse_core::task::{FailedItem, Task, TaskState};
use gatehouse_core::{Page, TaskId, Timestamp};
use http::{HeaderName, StatusCode, header};

use super::access_body::{self, ACCESS_BYTES, AccessWriter};
use crate::app::Error;
use crate::app::batch::Stage;
use crate::app::outcome::{ItemFilter, SucceededItem, TaskItem, TaskOutcome};
use crate::fields::task::{self, progress_body, task_body};
use crate::fields::{Body, access};
use crate::http::answer::csv;
use crate::http::answer::json::Json;
use crate::http::answer::media::{CSV, JSON};
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::answer::stream::{Finished, Sink, StreamError};
use crate::http::route::address::Address;
use crate::http::route::call::Call;
use crate::http::route::paging;
use crate::http::route::query::{PAGE_NUMBER, PAGE_SIZE};
use crate::http::route::resource::{Need, Operation, ResponseSpec};
use crate::reader::shortened;

/// Seconds until a Task may have made progress.
pub(in crate::http) const RETRY_AFTER_SECONDS: &str = "1";

/// Until when the passwords of a Task can be read.
const X_PASSWORDS_UNTIL: HeaderName = HeaderName::from_static("x-passwords-until");

/// Items per read of a streamed response: enough that the query and the wake-up cost little per item, and few enough
/// for a small buffer.
const ITEMS_AT_ONCE: u32 = 1000;

/// Query parameter: item results by outcome.
const STATE: &str = "state";

pub(in crate::http) const LIST: Operation = Operation {
    method: "GET",
    id: "listTasks",
    summary: "Lists the tenant's Tasks, newest first",
    need: Need::Scope(Scope::AccessRead),
    query: paging::PARAMS,
    responses: &[ResponseSpec {
        description: "A page of Tasks, each with its progress and without its accesses and errors",
        schema: Some("ListedTask"),
        headers: paging::HEADERS,
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(list(call)),
    ..Operation::BASE
};

pub(in crate::http) const READ: Operation = Operation {
    method: "GET",
    id: "readTask",
    summary: "Reads a Task; an ended one has its accesses and errors, and for a token with `access:write` also the \
        passwords while the server keeps them",
    need: Need::Scope(Scope::AccessRead),
    responses: &[
        ResponseSpec {
            description: "The Task: with `accesses` when it is DONE, `accesses` and `errors` when it is FAILED, \
                `errors` when it is REJECTED",
            schema: Some("TaskOutcome"),
            headers: &[
                "Retry-After?",
                "X-Passwords-Until?",
                "Cache-Control",
                "Vary",
                "Content-Encoding?",
            ],
            ..ResponseSpec::BASE
        },
        ResponseSpec {
            description: "The accesses of a Task that is DONE or FAILED, as a table",
            media_type: CSV,
            schema: Some("AccessTable"),
            headers: &[
                "X-Passwords-Until?",
                "Cache-Control",
                "Content-Disposition?",
                "Vary",
                "Content-Encoding?",
            ],
            ..ResponseSpec::BASE
        },
    ],
    problems: &[409],
    run: |call| Box::pin(read(call)),
    ..Operation::BASE
};

pub(in crate::http) const STOP: Operation = Operation {
    method: "DELETE",
    id: "stopTask",
    summary: "Stops a Task that has not ended; its changes so far stay",
    need: Need::Scope(Scope::AccessWrite),
    responses: &[ResponseSpec {
        description: "The Task, TERMINATED",
        schema: Some("Task"),
        ..ResponseSpec::BASE
    }],
    problems: &[409],
    run: |call| Box::pin(stop(call)),
    ..Operation::BASE
};

pub(in crate::http) const PROGRESS: Operation = Operation {
    method: "GET",
    id: "readProgress",
    summary: "Reads the progress of a Task",
    need: Need::Scope(Scope::AccessRead),
    responses: &[ResponseSpec {
        description: "The numbers of all and of processed items, the times, and the change",
        schema: Some("Progress"),
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(progress(call)),
    ..Operation::BASE
};

pub(in crate::http) const ITEMS: Operation = Operation {
    method: "GET",
    id: "listItems",
    summary: "Lists the item results of an ended Task, in request order; a token with `access:write` sees passwords \
        while the server keeps them",
    need: Need::Scope(Scope::AccessRead),
    query: &[STATE, PAGE_NUMBER, PAGE_SIZE],
    responses: &[ResponseSpec {
        description: "A page of item results",
        schema: Some("ItemResult"),
        headers: &["Link", "X-Total-Count", "X-Passwords-Until?", "Cache-Control"],
        ..ResponseSpec::BASE
    }],
    problems: &[409],
    run: |call| Box::pin(items(call)),
    ..Operation::BASE
};

async fn list(mut call: Call) -> Result<Reply, Problem> {
    let request = paging::page_or_default(&mut call)?;
    let page = call.app().store.tasks(call.tenant(), request).await?;
    let page = page.ok_or_else(|| Error::NoTenant(call.tenant().to_string()))?;
    Ok(paging::reply(&call, &page, listed))
}

async fn read(call: Call) -> Result<Reply, Problem> {
    let outcome = find(&call).await?;
    let until = outcome.shows_passwords_until();
    if call.media_type == CSV {
        outcome
            .check(Stage::HasResults, "only one that is DONE or FAILED can be had as a table")?;
        return Ok(confidential(table(outcome), until));
    }
    let reply = match outcome.task.state {
        TaskState::Acknowledged | TaskState::InProgress => {
            Reply::json(StatusCode::OK, &shown(&outcome.task))
                .with(header::RETRY_AFTER, RETRY_AFTER_SECONDS)
        }
        TaskState::Terminated => Reply::json(StatusCode::OK, &shown(&outcome.task)),
        TaskState::Rejected => {
            let rejection = outcome.rejection().await?;
            let error = rejection.map(|item| problem_of(item.failure, &outcome.task));
            let errors: Vec<Body> = error.into_iter().collect();
            let body = shown(&outcome.task).put(task::ERRORS, errors);
            Reply::json(StatusCode::OK, &body)
        }
        TaskState::Done | TaskState::Failed => {
            let address = call.address.clone();
            Reply::streamed(StatusCode::OK, JSON, move |sink| write_json(sink, address, outcome))
        }
    };
    Ok(confidential(reply, until))
}

async fn stop(call: Call) -> Result<Reply, Problem> {
    let id: TaskId = call.param("taskId", "task")?;
    let task = call.app().stop_task(call.tenant(), id, &call.origin).await?;
    Ok(Reply::json(StatusCode::OK, &shown(&task)))
}

async fn progress(call: Call) -> Result<Reply, Problem> {
    Ok(Reply::json(StatusCode::OK, &progress_body(&find(&call).await?.task)))
}

async fn items(mut call: Call) -> Result<Reply, Problem> {
    let filter = match call.query.value(STATE) {
        None => ItemFilter::All,
        Some("succeeded") => ItemFilter::Succeeded,
        Some("failed") => ItemFilter::Failed,
        Some(other) => {
            let reason = format!("must be `succeeded` or `failed`, not `{}`", shortened(other));
            call.query.fault(STATE, reason);
            ItemFilter::All
        }
    };
    let request = paging::page_or_default(&mut call)?;
    let outcome = find(&call).await?;
    outcome.check(Stage::Terminal, "its items can be listed when it is over")?;
    // A page past the end is empty, at any offset.
    let from = u32::try_from(request.offset()).unwrap_or(u32::MAX);
    let n = u32::try_from(request.size).unwrap_or(u32::MAX);
    let total = outcome.n_items(filter).into();
    let mut writer = AccessWriter::new(&call.address, call.tenant());
    let mut items = Vec::new();
    let show = &mut |item: TaskItem<'_>| items.push(write_item(&mut writer, &outcome.task, item));
    outcome.show(filter, from, n, show).await?;
    let page = Page { request, items, total };
    let reply = paging::reply_with_writer(&call, &page, ACCESS_BYTES, Json::append);
    Ok(confidential(reply, outcome.shows_passwords_until()))
}

/// A response that may have passwords: caches must not store it, and a header says until when they can be read.
fn confidential(reply: Reply, until: Option<Timestamp>) -> Reply {
    let reply = reply.with(header::CACHE_CONTROL, "no-store");
    match until {
        Some(until) => reply.with(X_PASSWORDS_UNTIL, &until.to_string()),
        None => reply,
    }
}

async fn find(call: &Call) -> Result<TaskOutcome, Problem> {
    let id: TaskId = call.param("taskId", "task")?;
    let outcome = call.app().outcome(call.tenant(), id).await?;
    let may_see_passwords = call.caller().rights.allow(Scope::AccessWrite);
    Ok(if may_see_passwords { outcome } else { outcome.without_passwords() })
}

fn shown(task: &Task) -> Body {
    task_body(task.id, task.state, &task.work)
}

fn listed(task: &Task) -> Body {
    shown(task).put(task::PROGRESS, progress_body(task))
}

/// Streams the body of an ended Task.
async fn write_json(
    mut sink: Sink,
    address: Address,
    outcome: TaskOutcome,
) -> Result<Finished, StreamError> {
    let task = &outcome.task;
    let base = serde_json::to_vec(&shown(task)).expect(PLAIN);
    // Without the closing brace: more members follow.
    sink.write(&base[..base.len() - 1]).await?;
    sink.json().field(&task::ACCESSES);
    sink.write(b"[").await?;
    let mut writer = AccessWriter::new(&address, outcome.tenant());
    let mut separator: &[u8] = b"";
    for from in (0..task.n_processed()).step_by(ITEMS_AT_ONCE as usize) {
        let until = from.saturating_add(ITEMS_AT_ONCE).min(task.n_processed());
        let show = &mut |success: SucceededItem<'_>| {
            let json = sink.json();
            json.bytes(separator);
            writer.write(json, &success.access, success.password.as_ref());
            sink.cut();
            separator = b",";
        };
        outcome.show_succeeded_within(from, until, show).await?;
        sink.send_ready().await?;
    }
    sink.write(b"]").await?;
    if task.state == TaskState::Failed {
        sink.json().field(&task::ERRORS);
        sink.write(b"[").await?;
        separator = b"";
        for from in (0..task.n_failed).step_by(ITEMS_AT_ONCE as usize) {
            let show = &mut |item: TaskItem<'_>| {
                let TaskItem::Failed(item) = item else { return };
                let json = sink.json();
                json.bytes(separator);
                json.value(&error_body(*item, task));
                sink.cut();
                separator = b",";
            };
            outcome.show(ItemFilter::Failed, from, ITEMS_AT_ONCE, show).await?;
            sink.send_ready().await?;
        }
        sink.write(b"]").await?;
    }
    sink.write(b"}").await?;
    sink.finish().await
}

/// The accesses of an ended Task, as a table.
fn table(outcome: TaskOutcome) -> Reply {
    let name = format!("attachment; filename=\"{}.csv\"", outcome.task.id);
    Reply::streamed(StatusCode::OK, CSV, move |sink| write_table(sink, outcome))
        .with(header::CONTENT_DISPOSITION, &name)
}

async fn write_table(mut sink: Sink, outcome: TaskOutcome) -> Result<Finished, StreamError> {
    let mut rows = Vec::new();
    csv::write_row(&mut rows, access::COLUMNS);
    for from in (0..outcome.task.n_processed()).step_by(ITEMS_AT_ONCE as usize) {
        let until = from.saturating_add(ITEMS_AT_ONCE).min(outcome.task.n_processed());
        let show = &mut |success: SucceededItem<'_>| {
            access_body::write_row(&mut rows, &success.access, success.password.as_ref());
        };
        outcome.show_succeeded_within(from, until, show).await?;
        sink.write(&rows).await?;
        rows.clear();
    }
    sink.write(&rows).await?;
    sink.finish().await
}

/// The result of one item.
fn write_item(writer: &mut AccessWriter, task: &Task, item: TaskItem<'_>) -> Json {
    let mut json = Json::with_capacity(ACCESS_BYTES);
    json.raw("{");
    json.first_field(&task::INDEX);
    match item {
        TaskItem::Succeeded(SucceededItem { index, access, password }) => {
            json.value(&index);
            json.field(&task::RESULT_STATE);
            json.quoted("succeeded");
            json.field(&task::ACCESS);
            writer.write(&mut json, &access, password.as_ref());
        }
        TaskItem::Failed(item) => {
            json.value(&item.index);
            json.field(&task::RESULT_STATE);
            json.quoted("failed");
            json.field(&task::ERROR);
            json.value(&error_body(*item, task));
        }
    }
    json.raw("}");
    json
}

/// The problem of a failed item, with the item's index and names.
fn error_body(item: FailedItem, task: &Task) -> Body {
    problem_of(item.failure, task)
        .put(task::INDEX, item.index)
        .put_some(task::ACCESS_ID, item.name.access_id)
        .put_some(task::USERNAME, item.name.username)
        .put_some(task::DEVICE_NAME, item.name.device_name)
}

/// The problem of a failure in a Task, with the correlation ID of the request that created the Task.
fn problem_of(failure: gatehouse_core::BatchFailure, task: &Task) -> Body {
    Problem::from(failure).body(&task.correlation_id)
}

const PLAIN: &str = "bodies are plain data";
