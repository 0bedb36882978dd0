//! `/-/admin/tenants`: tenants, as the operator sets them up.

use gatehouse_core::{Tenant, TenantName};
use http::StatusCode;

use crate::app::Error;
use crate::estate::read_tenant;
use crate::fields::tenant::{self, tenant_body};
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::paging;
use crate::http::route::resource::{Answer, BodyKind, Need, Operation};
use crate::reader::Reader;

pub(in crate::http) const LIST: Operation = Operation {
    method: "GET",
    id: "listTenants",
    summary: "Lists all tenants",
    need: Need::AdminOfAll,
    query: paging::PARAMS,
    answers: &[Answer {
        what: "A page of tenants, by name",
        schema: Some("Tenant"),
        headers: paging::HEADERS,
        ..Answer::BASE
    }],
    run: |call| Box::pin(list(call)),
    ..Operation::BASE
};

pub(in crate::http) const READ: Operation = Operation {
    method: "GET",
    id: "readTenant",
    summary: "Reads one tenant",
    need: Need::Admin,
    answers: &[Answer { what: "The tenant", schema: Some("Tenant"), ..Answer::BASE }],
    run: |call| Box::pin(read(call)),
    ..Operation::BASE
};

pub(in crate::http) const PUT: Operation = Operation {
    method: "PUT",
    id: "putTenant",
    summary: "Makes a tenant, or makes the one that is there exactly as given",
    need: Need::AdminOfAll,
    body: Some(BodyKind {
        schema: "NewTenant",
        example: || tenant::new_tenant().example(),
        ..BodyKind::BASE
    }),
    creates: true,
    answers: &[
        Answer {
            what: "The tenant was there, and is now as given",
            schema: Some("Tenant"),
            ..Answer::BASE
        },
        Answer {
            status: 201,
            what: "The tenant was made",
            schema: Some("Tenant"),
            headers: &["Location"],
            ..Answer::BASE
        },
    ],
    run: |call| Box::pin(put(call)),
    ..Operation::BASE
};

pub(in crate::http) const DELETE: Operation = Operation {
    method: "DELETE",
    id: "deleteTenant",
    summary: "Deletes a tenant that never had an access, with its contracts and accounts",
    need: Need::AdminOfAll,
    answers: &[Answer { status: 204, what: "The tenant is gone", ..Answer::BASE }],
    problems: &[409],
    run: |call| Box::pin(delete(call)),
    ..Operation::BASE
};

async fn list(mut call: Call) -> Result<Reply, Problem> {
    let request = paging::requested(&mut call)?;
    let page = call.app().store.tenants(request).await?;
    Ok(paging::reply(&call, &page, tenant_body))
}

async fn read(call: Call) -> Result<Reply, Problem> {
    let tenant = call.app().store.tenant(call.tenant()).await?;
    let tenant = tenant.ok_or_else(|| Error::NoTenant(call.tenant().to_string()))?;
    Ok(Reply::json(StatusCode::OK, &tenant_body(&tenant)))
}

async fn put(call: Call) -> Result<Reply, Problem> {
    let tenant = call.object(|body| read_body(body, call.tenant()))?;
    let tenant = tenant.expect("what has no faults was read whole");
    let put = call.app().put_tenant(&tenant).await?;
    call.server.rates.invalidate(&tenant.name);
    Ok(call.reply_to_put(put, &tenant_body(&tenant)))
}

/// Reads a tenant whose name is in the path; one in the body must be the same.
pub(in crate::http) fn read_body(mut body: Reader<'_>, name: &TenantName) -> Option<Tenant> {
    let given = body.optional(tenant::NAME);
    if given.is_some_and(|given| given != *name) {
        body.fault(tenant::NAME.name, "must be the name in the path, or left out");
    }
    read_tenant(body, Some(name))
}

async fn delete(call: Call) -> Result<Reply, Problem> {
    call.app().delete_tenant(call.tenant()).await?;
    call.server.rates.invalidate(call.tenant());
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}
