//! `/-/admin/tenants`: tenants, as the operator sets them up.

use gatehouse_core::{Tenant, TenantName};
use http::StatusCode;
use serde::Serialize;
use serde_json::json;

use crate::app::Error;
use crate::estate::read_tenant;
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::paging;
use crate::http::route::resource::{Answer, BodyKind, Need, Operation};
use crate::reader::{Reader, parsed};

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
        example: || json!({"timeZone": "Europe/Berlin"}),
        ..BodyKind::BASE
    }),
    makes: true,
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
    Ok(paging::reply(&call, &page, TenantBody::new))
}

async fn read(call: Call) -> Result<Reply, Problem> {
    let tenant = call.app().store.tenant(call.tenant()).await?;
    let tenant = tenant.ok_or_else(|| Error::NoTenant(call.tenant().to_string()))?;
    Ok(Reply::json(StatusCode::OK, &TenantBody::new(&tenant)))
}

async fn put(call: Call) -> Result<Reply, Problem> {
    let tenant = call.object(|body| read_body(body, call.tenant()))?;
    let tenant = tenant.expect("what has no faults was read whole");
    let put = call.app().put_tenant(&tenant).await?;
    call.site.rates.forget(&tenant.name);
    Ok(call.reply_to_put(put, &TenantBody::new(&tenant)))
}

/// Reads a tenant whose name is in the path; one in the body must be the same.
pub(in crate::http) fn read_body(mut body: Reader<'_>, name: &TenantName) -> Option<Tenant> {
    let given = body.optional("name", parsed::<TenantName>);
    if given.is_some_and(|given| given != *name) {
        body.fault("name", "must be the name in the path, or left out");
    }
    read_tenant(body, Some(name))
}

async fn delete(call: Call) -> Result<Reply, Problem> {
    call.app().delete_tenant(call.tenant()).await?;
    call.site.rates.forget(call.tenant());
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

/// A tenant on the wire.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TenantBody {
    name: String,
    time_zone: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    requests_per_second: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page_number_max: Option<u64>,
}

impl TenantBody {
    /// The tenant as it was set up.
    pub fn new(tenant: &Tenant) -> Self {
        Self {
            name: tenant.name.to_string(),
            time_zone: tenant.time_zone.as_str().to_owned(),
            requests_per_second: tenant.requests_per_second,
            page_number_max: tenant.page_number_max,
        }
    }
}
