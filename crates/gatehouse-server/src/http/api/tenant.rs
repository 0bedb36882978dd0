//! `/-/admin/tenants`: tenants as the operator configures them.

use gatehouse_core::{Tenant, TenantName};
use http::StatusCode;

use crate::app::Error;
use crate::estate::read_tenant;
use crate::fields::tenant::{self, tenant_body};
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::paging;
use crate::http::route::resource::{BodyKind, Need, Operation, ResponseSpec};
use crate::reader::Reader;

pub(in crate::http) const LIST: Operation = Operation {
    method: "GET",
    id: "listTenants",
    summary: "Lists all tenants",
    need: Need::AdminOfAll,
    query: paging::PARAMS,
    responses: &[ResponseSpec {
        description: "A page of tenants, by name",
        schema: Some("Tenant"),
        headers: paging::HEADERS,
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(list(call)),
    ..Operation::BASE
};

pub(in crate::http) const READ: Operation = Operation {
    method: "GET",
    id: "readTenant",
    summary: "Reads one tenant",
    need: Need::Admin,
    responses: &[ResponseSpec {
        description: "The tenant",
        schema: Some("Tenant"),
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(read(call)),
    ..Operation::BASE
};

pub(in crate::http) const PUT: Operation = Operation {
    method: "PUT",
    id: "putTenant",
    summary: "Creates a tenant, or replaces the existing one",
    need: Need::AdminOfAll,
    body: Some(BodyKind {
        schema: "NewTenant",
        example: || tenant::new_tenant().example(),
        ..BodyKind::BASE
    }),
    creates: true,
    responses: &[
        ResponseSpec {
            description: "The tenant was replaced",
            schema: Some("Tenant"),
            ..ResponseSpec::BASE
        },
        ResponseSpec {
            status: 201,
            description: "The tenant was created",
            schema: Some("Tenant"),
            headers: &["Location"],
            ..ResponseSpec::BASE
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
    responses: &[ResponseSpec {
        status: 204,
        description: "The tenant was deleted",
        ..ResponseSpec::BASE
    }],
    problems: &[409],
    run: |call| Box::pin(delete(call)),
    ..Operation::BASE
};

async fn list(mut call: Call) -> Result<Reply, Problem> {
    let request = paging::page_or_default(&mut call)?;
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
    let tenant = tenant.expect("a body without faults has every required field");
    let put = call.app().put_tenant(&tenant, &call.origin).await?;
    call.server.rates.invalidate(&tenant.name);
    Ok(call.reply_to_put(put, &tenant_body(&tenant)))
}

/// Reads a tenant whose name is in the path; a name in the body must match.
pub(in crate::http) fn read_body(mut body: Reader<'_>, name: &TenantName) -> Option<Tenant> {
    let given = body.optional(tenant::NAME);
    if given.is_some_and(|given| given != *name) {
        body.fault(tenant::NAME.name, "must be the name in the path, or left out");
    }
    read_tenant(body, Some(name))
}

async fn delete(call: Call) -> Result<Reply, Problem> {
    call.app().delete_tenant(call.tenant(), &call.origin).await?;
    call.server.rates.invalidate(call.tenant());
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}
