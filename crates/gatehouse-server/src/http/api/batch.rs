//! `/{tenantName}/access/batch` and `/{tenantName}/access/batchUpdate`: creates and updates many accesses.
//!
//! The response is a Task, which `task` serves. Faults of the request as a whole are refused here; the Task reports
//! those of single items, and conflicts with the current state.

use gatehouse_core::TaskId;
use gatehouse_core::rights::Scope;
use gatehouse_core::task::{TaskState, TaskWork};
use http::{StatusCode, header};

use super::batch_body;
use super::task::RETRY_AFTER_SECONDS;
use crate::fields::batch;
use crate::fields::task::task_body;
use crate::http::answer::media::{JSON, MERGE_PATCH};
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::idempotency;
use crate::http::route::resource::{BodyKind, BodySize, Need, Operation, ResponseSpec};

const ACCEPTED: &[ResponseSpec] = &[ResponseSpec {
    status: 202,
    description: "The Task that follows the batch",
    schema: Some("Task"),
    headers: &["Location", "Retry-After"],
    ..ResponseSpec::BASE
}];

pub(in crate::http) const CREATE: Operation = Operation {
    method: "POST",
    id: "createAccesses",
    summary: "Creates many accesses, by number or by list; returns a Task at once",
    need: Need::Scope(Scope::AccessWrite),
    headers: &[idempotency::KEY],
    body: Some(BodyKind {
        schema: "NewBatch",
        size: BodySize::Batch,
        example: || batch::new_by_number(0).example(),
        ..BodyKind::BASE
    }),
    responses: ACCEPTED,
    problems: &[409],
    run: |call| Box::pin(create(call)),
    ..Operation::BASE
};

/// The body of a batch of changes, for both methods.
const CHANGE: BodyKind = BodyKind {
    schema: "BatchUpdate",
    size: BodySize::Batch,
    example: || batch::change(0).example(),
    ..BodyKind::BASE
};

pub(in crate::http) const UPDATE: Operation = Operation {
    method: "POST",
    id: "updateAccesses",
    summary: "Changes many accesses, or ends them with the month; returns a Task at once",
    need: Need::Scope(Scope::AccessWrite),
    headers: &[idempotency::KEY],
    body: Some(CHANGE),
    responses: ACCEPTED,
    problems: &[409],
    run: |call| Box::pin(update(call)),
    ..Operation::BASE
};

pub(in crate::http) const PATCH: Operation = Operation {
    method: "PATCH",
    id: "patchAccesses",
    summary: "The same as `POST /{tenantName}/access/batchUpdate`",
    body: Some(BodyKind { media_types: &[JSON, MERGE_PATCH], ..CHANGE }),
    ..UPDATE
};

async fn create(mut call: Call) -> Result<Reply, Problem> {
    let idempotent = idempotency::read_request(&call, idempotency::Operation::Batch).await?;
    let batch = batch_body::new_batch(&mut call).await?;
    let _guard = idempotency::begin(&call, idempotent.as_ref())?;
    let (app, tenant) = (call.app(), call.tenant());
    let accepted = app.accept_batch(tenant, batch, idempotent, &call.origin).await?;
    Ok(accepted_reply(&call, &accepted))
}

async fn update(mut call: Call) -> Result<Reply, Problem> {
    let idempotent = idempotency::read_request(&call, idempotency::Operation::Change).await?;
    let change = batch_body::batch_change(&mut call).await?;
    let _guard = idempotency::begin(&call, idempotent.as_ref())?;
    let (app, tenant) = (call.app(), call.tenant());
    let accepted = app.accept_change(tenant, change, idempotent, &call.origin).await?;
    Ok(accepted_reply(&call, &accepted))
}

fn accepted_reply(call: &Call, (id, work): &(TaskId, TaskWork)) -> Reply {
    let body = task_body(*id, TaskState::Acknowledged, work);
    Reply::json(StatusCode::ACCEPTED, &body)
        .with(header::LOCATION, &call.address.task(call.tenant(), *id))
        .with(header::RETRY_AFTER, RETRY_AFTER_SECONDS)
}
