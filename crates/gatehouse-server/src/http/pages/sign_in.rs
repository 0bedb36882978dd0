//! `/-/sign-in`: the issuers and endpoints for sign-in with a browser, which a page needs before it has a token.

use http::{StatusCode, header};

use super::demo::{self, DemoToken};
use crate::fields::sign_in::sign_in_body;
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::resource::{Need, Operation, ResponseSpec};

pub(in crate::http) const READ: Operation = Operation {
    method: "GET",
    id: "signIn",
    summary: "Lists the issuers for sign-in, with their endpoints",
    need: Need::Nothing,
    responses: &[ResponseSpec {
        description: "The issuers that the console is a client of",
        schema: Some("SignIn"),
        headers: &["Cache-Control"],
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(read(call)),
    ..Operation::BASE
};

async fn read(call: Call) -> Result<Reply, Problem> {
    let sign_ins = call.server.auth.sign_ins();
    let demo = demo::token(&call).map(|DemoToken { tenant, token }| (tenant, token));
    let body = sign_in_body(&sign_ins, demo);
    Ok(Reply::json(StatusCode::OK, &body).with(header::CACHE_CONTROL, "no-store"))
}
