//! `/-/…`: health, keys and the OpenAPI document, without a token.

use http::StatusCode;
use serde_json::json;

use crate::fields::server::state_body;
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::resource::{Need, Operation, ResponseSpec};

pub(in crate::http) const LIVE: Operation = Operation {
    method: "GET",
    id: "live",
    summary: "Whether the server runs",
    need: Need::Nothing,
    responses: &[ResponseSpec {
        description: "The server runs",
        schema: Some("State"),
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(live(call)),
    ..Operation::BASE
};

pub(in crate::http) const READY: Operation = Operation {
    method: "GET",
    id: "ready",
    summary: "Whether the server is ready: its store responds, and it is not stopping",
    need: Need::Nothing,
    responses: &[ResponseSpec {
        description: "The server is ready",
        schema: Some("State"),
        example: Some(|| json!(state_body("ready"))),
        ..ResponseSpec::BASE
    }],
    problems: &[503],
    run: |call| Box::pin(ready(call)),
    ..Operation::BASE
};

pub(in crate::http) const OPENAPI: Operation = Operation {
    method: "GET",
    id: "openapi",
    summary: "This document",
    need: Need::Nothing,
    responses: &[ResponseSpec {
        description: "An OpenAPI 3.1 document",
        schema: Some("Document"),
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(document(call)),
    ..Operation::BASE
};

pub(in crate::http) const JWKS: Operation = Operation {
    method: "GET",
    id: "jwks",
    summary: "The public keys of the built-in issuer",
    need: Need::Nothing,
    responses: &[ResponseSpec {
        description: "A JSON Web Key Set",
        schema: Some("KeySet"),
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(jwks(call)),
    ..Operation::BASE
};

async fn live(_: Call) -> Result<Reply, Problem> {
    Ok(Reply::json(StatusCode::OK, &state_body("live")))
}

async fn ready(call: Call) -> Result<Reply, Problem> {
    if call.server.stopping.is_cancelled() {
        return Err(Problem::unavailable("Stopping", "the server is stopping, use another one"));
    }
    call.app().store.ping().await?;
    Ok(Reply::json(StatusCode::OK, &state_body("ready")))
}

async fn document(call: Call) -> Result<Reply, Problem> {
    let mut document = call.server.document.clone();
    document["servers"] = json!([{"url": call.address.base()}]);
    Ok(Reply::json(StatusCode::OK, &document))
}

async fn jwks(call: Call) -> Result<Reply, Problem> {
    Ok(Reply::json(StatusCode::OK, &call.server.auth.jwks()))
}
