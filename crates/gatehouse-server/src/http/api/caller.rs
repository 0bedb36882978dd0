//! `/-/me`: what the token of a request allows, for programs that want to know before they try.

use gatehouse_core::Timestamp;
use gatehouse_core::rights::scopes_to_words;
use http::{StatusCode, header};
use serde::Serialize;

use crate::auth::Caller;
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
    let reply = Reply::json(StatusCode::OK, &CallerBody::new(call.caller()));
    Ok(reply.with(header::CACHE_CONTROL, "no-store"))
}

/// A caller on the wire.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallerBody<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    subject: &'a str,
    tenants: Vec<&'a str>,
    scope: String,
    expires_at: String,
}

impl<'a> CallerBody<'a> {
    fn new(caller: &'a Caller) -> Self {
        let Caller { subject, rights, expires } = caller;
        Self {
            subject,
            tenants: rights.tenants.words().collect(),
            scope: scopes_to_words(&rights.scopes),
            expires_at: Timestamp::to_string(expires),
        }
    }
}
