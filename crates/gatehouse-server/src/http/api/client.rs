//! `/-/admin/tenants/{tenantName}/clients`: a tenant's programs that get their tokens from gatehouse.

use std::collections::BTreeSet;

use gatehouse_core::rights::Scope;
use gatehouse_core::{ClientId, ClientName};
use http::{StatusCode, header};

use crate::app::Error;
use crate::fields::client::{self, client_body};
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::address::encoded;
use crate::http::route::call::Call;
use crate::http::route::paging;
use crate::http::route::resource::{BodyKind, Need, Operation, ResponseSpec};
use crate::reader::{Reader, Required};

pub(in crate::http) const LIST: Operation = Operation {
    method: "GET",
    id: "listClients",
    summary: "Lists a tenant's clients",
    need: Need::Admin,
    query: paging::PARAMS,
    responses: &[ResponseSpec {
        status: 200,
        description: "A page of clients, by identifier, without their secrets",
        schema: Some("Client"),
        headers: paging::HEADERS,
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(list(call)),
    ..Operation::BASE
};

pub(in crate::http) const CREATE: Operation = Operation {
    method: "POST",
    id: "createClient",
    summary: "Creates a client that gets its tokens at /-/oauth2/token; its secret is shown only here",
    need: Need::Admin,
    body: Some(BodyKind {
        schema: "NewClient",
        example: || client::new_client().example(),
        ..BodyKind::BASE
    }),
    responses: &[ResponseSpec {
        status: 201,
        description: "The client, with its secret",
        schema: Some("IssuedClient"),
        headers: &["Location", "Cache-Control"],
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(create(call)),
    ..Operation::BASE
};

pub(in crate::http) const READ: Operation = Operation {
    method: "GET",
    id: "readClient",
    summary: "Reads one client",
    need: Need::Admin,
    responses: &[ResponseSpec {
        status: 200,
        description: "The client, without its secret",
        schema: Some("Client"),
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(read(call)),
    ..Operation::BASE
};

pub(in crate::http) const DELETE: Operation = Operation {
    method: "DELETE",
    id: "deleteClient",
    summary: "Deletes a client; its tokens are refused from now on",
    need: Need::Admin,
    responses: &[ResponseSpec {
        status: 204,
        description: "The client was deleted",
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(delete(call)),
    ..Operation::BASE
};

async fn list(mut call: Call) -> Result<Reply, Problem> {
    let request = paging::page_or_default(&mut call)?;
    let page = call.app().store.clients(call.tenant(), request).await?;
    let page = page.ok_or_else(|| Error::NoTenant(call.tenant().to_string()))?;
    Ok(paging::reply(&call, &page, |client| client_body(client, None)))
}

async fn create(call: Call) -> Result<Reply, Problem> {
    let (name, scopes) = call.object(read_new)?;
    let created =
        call.app().create_client(call.tenant(), name, scopes.value(), &call.origin).await?;
    let id = created.client.id.to_string();
    let location = format!("{}/{}", call.address.request_url(), encoded(&id));
    let body = client_body(&created.client, Some(created.secret.reveal()));
    Ok(Reply::json(StatusCode::CREATED, &body)
        .with(header::LOCATION, &location)
        .with(header::CACHE_CONTROL, "no-store"))
}

/// Reads the name and the scopes of a new client.
pub(in crate::http) fn read_new(
    body: Reader<'_>,
) -> (Option<ClientName>, Required<BTreeSet<Scope>>) {
    let mut body = body.of_creation();
    let name = body.optional(client::NAME);
    let scopes = body.required(client::SCOPE);
    body.finish();
    (name, scopes)
}

async fn read(call: Call) -> Result<Reply, Problem> {
    let id: ClientId = call.param("clientId", "client")?;
    let client = call.app().store.client(call.tenant(), &id).await?;
    let (client, _) = client.ok_or_else(|| Error::NotFound("client", id.to_string()))?;
    Ok(Reply::json(StatusCode::OK, &client_body(&client, None)))
}

async fn delete(call: Call) -> Result<Reply, Problem> {
    let id: ClientId = call.param("clientId", "client")?;
    call.app().delete_client(call.tenant(), &id, &call.origin).await?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}
