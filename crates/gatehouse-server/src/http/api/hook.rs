//! `/-/admin/tenants/{tenantName}/hooks`: gateways that may ask for checks of a tenant.

use gatehouse_core::{Dialect, HookId, HookName};
use http::{StatusCode, header};

use crate::app::Error;
use crate::fields::gateway::hook::{self, hook_body};
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::paging;
use crate::http::route::resource::{BodyKind, Need, Operation, ResponseSpec};
use crate::reader::{Reader, Required};

pub(in crate::http) const LIST: Operation = Operation {
    method: "GET",
    id: "listHooks",
    summary: "Lists a tenant's hooks",
    need: Need::Admin,
    query: paging::PARAMS,
    responses: &[ResponseSpec {
        description: "A page of hooks, the oldest first, without their keys",
        schema: Some("Hook"),
        headers: paging::HEADERS,
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(list(call)),
    ..Operation::BASE
};

pub(in crate::http) const CREATE: Operation = Operation {
    method: "POST",
    id: "createHook",
    summary: "Creates a hook, with which a gateway may ask for checks; its key is shown only here",
    need: Need::Admin,
    body: Some(BodyKind {
        schema: "NewHook",
        example: || hook::new_hook().example(),
        ..BodyKind::BASE
    }),
    responses: &[ResponseSpec {
        status: 201,
        description: "The hook, with its key",
        schema: Some("IssuedHook"),
        headers: &["Location", "Cache-Control"],
        ..ResponseSpec::BASE
    }],
    problems: &[409],
    run: |call| Box::pin(create(call)),
    ..Operation::BASE
};

pub(in crate::http) const READ: Operation = Operation {
    method: "GET",
    id: "readHook",
    summary: "Reads one hook",
    need: Need::Admin,
    responses: &[ResponseSpec {
        description: "The hook, without its key",
        schema: Some("Hook"),
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(read(call)),
    ..Operation::BASE
};

pub(in crate::http) const DELETE: Operation = Operation {
    method: "DELETE",
    id: "deleteHook",
    summary: "Deletes a hook; every server refuses its key within a second",
    need: Need::Admin,
    responses: &[ResponseSpec {
        status: 204,
        description: "The hook was deleted",
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(delete(call)),
    ..Operation::BASE
};

async fn list(mut call: Call) -> Result<Reply, Problem> {
    let request = paging::page_or_default(&mut call)?;
    let page = call.app().store.hooks(call.tenant(), request).await?;
    let page = page.ok_or_else(|| Error::NoTenant(call.tenant().to_string()))?;
    Ok(paging::reply(&call, &page, |hook| hook_body(hook, None)))
}

async fn create(call: Call) -> Result<Reply, Problem> {
    let (dialect, name) = call.object(read_new)?;
    let created =
        call.app().create_hook(call.tenant(), dialect.value(), name, &call.origin).await?;
    let location = format!("{}/{}", call.address.request_url(), created.hook.id);
    let body = hook_body(&created.hook, Some(created.key.reveal()));
    Ok(Reply::json(StatusCode::CREATED, &body)
        .with(header::LOCATION, &location)
        .with(header::CACHE_CONTROL, "no-store"))
}

/// Reads the dialect and the name of a new hook.
pub(in crate::http) fn read_new(body: Reader<'_>) -> (Required<Dialect>, Option<HookName>) {
    let mut body = body.of_creation();
    let dialect = body.required(hook::DIALECT);
    let name = body.optional(hook::NAME);
    body.finish();
    (dialect, name)
}

async fn read(call: Call) -> Result<Reply, Problem> {
    let id: HookId = call.param("hookId", "hook")?;
    let hook = call.app().store.hook(call.tenant(), id).await?;
    let hook = hook.ok_or_else(|| Error::NotFound("hook", id.to_string()))?;
    Ok(Reply::json(StatusCode::OK, &hook_body(&hook, None)))
}

async fn delete(call: Call) -> Result<Reply, Problem> {
    let id: HookId = call.param("hookId", "hook")?;
    call.app().delete_hook(call.tenant(), id, &call.origin).await?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}
