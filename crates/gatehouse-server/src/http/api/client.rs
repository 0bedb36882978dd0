//! `/-/admin/tenants/{tenantName}/clients`: a tenant's machines that get their tokens from us.

use std::collections::BTreeSet;

use gatehouse_core::rights::{Scope, parse_scopes, scopes_to_words};
use gatehouse_core::{Client, ClientId, ClientName};
use http::{StatusCode, header};
use serde::Serialize;
use serde_json::json;

use crate::app::Error;
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::address::encoded;
use crate::http::route::call::Call;
use crate::http::route::paging;
use crate::http::route::resource::{Answer, BodyKind, Need, Operation};
use crate::reader::{Json, Reader, Required, parsed, text};

pub(in crate::http) const LIST: Operation = Operation {
    method: "GET",
    id: "listClients",
    summary: "Lists a tenant's clients",
    need: Need::Admin,
    query: paging::PARAMS,
    answers: &[Answer {
        status: 200,
        what: "A page of clients, by identifier, without their secrets",
        schema: Some("Client"),
        headers: paging::HEADERS,
        ..Answer::BASE
    }],
    run: |call| Box::pin(list(call)),
    ..Operation::BASE
};

pub(in crate::http) const CREATE: Operation = Operation {
    method: "POST",
    id: "createClient",
    summary: "Makes a client that gets its tokens at /-/oauth2/token; its secret is shown only here",
    need: Need::Admin,
    body: Some(BodyKind {
        schema: "NewClient",
        example: || json!({"name": "the broker in Hamburg", "scope": "access:verify"}),
        ..BodyKind::BASE
    }),
    answers: &[Answer {
        status: 201,
        what: "The client, with its secret",
        schema: Some("IssuedClient"),
        headers: &["Location", "Cache-Control"],
        ..Answer::BASE
    }],
    run: |call| Box::pin(create(call)),
    ..Operation::BASE
};

pub(in crate::http) const READ: Operation = Operation {
    method: "GET",
    id: "readClient",
    summary: "Reads one client",
    need: Need::Admin,
    answers: &[Answer {
        status: 200,
        what: "The client, without its secret",
        schema: Some("Client"),
        ..Answer::BASE
    }],
    run: |call| Box::pin(read(call)),
    ..Operation::BASE
};

pub(in crate::http) const DELETE: Operation = Operation {
    method: "DELETE",
    id: "deleteClient",
    summary: "Deletes a client; tokens that it has got are refused from now on",
    need: Need::Admin,
    answers: &[Answer { status: 204, what: "The client is gone", ..Answer::BASE }],
    run: |call| Box::pin(delete(call)),
    ..Operation::BASE
};

async fn list(mut call: Call) -> Result<Reply, Problem> {
    let request = paging::requested(&mut call)?;
    let page = call.app().store.clients(call.tenant(), request).await?;
    let page = page.ok_or_else(|| Error::NoTenant(call.tenant().to_string()))?;
    Ok(paging::reply(&call, &page, |client| ClientBody::new(client, None)))
}

async fn create(call: Call) -> Result<Reply, Problem> {
    let (name, scopes) = call.object(read_new)?;
    let made = call.app().create_client(call.tenant(), name, scopes.value()).await?;
    let id = made.client.id.to_string();
    let location = format!("{}/{}", call.address.here(), encoded(&id));
    let body = ClientBody::new(&made.client, Some(made.secret.reveal()));
    Ok(Reply::json(StatusCode::CREATED, &body)
        .with(header::LOCATION, &location)
        .with(header::CACHE_CONTROL, "no-store"))
}

/// Reads what a new client is called and what its tokens may allow.
pub(in crate::http) fn read_new(
    body: Reader<'_>,
) -> (Option<ClientName>, Required<BTreeSet<Scope>>) {
    let mut body = body.of_creation();
    let name = body.optional("name", parsed);
    let scopes = body
        .required("scope", |json: Json| parse_scopes(&text(json)?).map_err(|bad| bad.to_string()));
    body.finish();
    (name, scopes)
}

async fn read(call: Call) -> Result<Reply, Problem> {
    let id: ClientId = call.param("clientId", "client")?;
    let client = call.app().store.client(call.tenant(), &id).await?;
    let (client, _) = client.ok_or_else(|| Error::NotFound("client", id.to_string()))?;
    Ok(Reply::json(StatusCode::OK, &ClientBody::new(&client, None)))
}

async fn delete(call: Call) -> Result<Reply, Problem> {
    let id: ClientId = call.param("clientId", "client")?;
    call.app().delete_client(call.tenant(), &id).await?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

/// A client on the wire.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientBody<'a> {
    client_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_secret: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    scope: String,
    created_at: String,
}

impl<'a> ClientBody<'a> {
    /// The client, with its secret where it has just been made.
    pub fn new(client: &'a Client, secret: Option<&'a str>) -> Self {
        Self {
            client_id: client.id.to_string(),
            client_secret: secret,
            name: client.name.as_ref().map(|name| name.as_str()),
            scope: scopes_to_words(&client.scopes),
            created_at: client.created_at.to_string(),
        }
    }
}
