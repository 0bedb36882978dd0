//! `/-/me`: what the token of a request allows, for programs that want to know before they try.

use http::{StatusCode, header};

use crate::fields::caller::caller_body;
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::resource::{Answer, Need, Operation};

pub(in crate::http) const READ: Operation = Operation {
    method: "GET",
    id: "me",
    summary: "Says whose token it is, for which tenants, what it allows and until when",
    need: Need::Token,
    answers: &[Answer {
        what: "What the token says",
        schema: Some("Caller"),
        headers: &["Cache-Control"],
        ..Answer::BASE
    }],
    run: |call| Box::pin(read(call)),
    ..Operation::BASE
};

async fn read(call: Call) -> Result<Reply, Problem> {
    let reply = Reply::json(StatusCode::OK, &caller_body(call.caller()));
    Ok(reply.with(header::CACHE_CONTROL, "no-store"))
}
