//! `/-/me`: the rights of the request's token, so that programs know them in advance.

use http::{StatusCode, header};

use crate::fields::caller::caller_body;
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::resource::{Need, Operation, ResponseSpec};

pub(in crate::http) const READ: Operation = Operation {
    method: "GET",
    id: "me",
    summary: "Describes the token: its owner, tenants, scopes and expiry",
    need: Need::Token,
    responses: &[ResponseSpec {
        description: "The token's owner and rights",
        schema: Some("Caller"),
        headers: &["Cache-Control"],
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(read(call)),
    ..Operation::BASE
};

async fn read(call: Call) -> Result<Reply, Problem> {
    let reply = Reply::json(StatusCode::OK, &caller_body(call.caller()));
    Ok(reply.with(header::CACHE_CONTROL, "no-store"))
}
