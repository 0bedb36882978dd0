//! `/-/sign-in`: how people sign in with a browser, which a page has to know before there is a token.

use http::{StatusCode, header};
use serde::Serialize;

use super::demo::{self, DemoToken};
use crate::auth;
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::resource::{Answer, Need, Operation};

pub(in crate::http) const READ: Operation = Operation {
    method: "GET",
    id: "signIn",
    summary: "Says with which issuers people can sign in, and where",
    need: Need::Nothing,
    answers: &[Answer {
        what: "The issuers that the console is a client of",
        schema: Some("SignIn"),
        headers: &["Cache-Control"],
        ..Answer::BASE
    }],
    run: |call| Box::pin(read(call)),
    ..Operation::BASE
};

async fn read(call: Call) -> Result<Reply, Problem> {
    let sign_ins = call.site.auth.sign_ins();
    let issuers = sign_ins.iter().map(IssuerBody::new).collect();
    let demo = demo::token(&call).map(|DemoToken { tenant, token }| DemoBody { tenant, token });
    let body = SignInBody { issuers, demo };
    Ok(Reply::json(StatusCode::OK, &body).with(header::CACHE_CONTROL, "no-store"))
}

/// The ways to sign in on the wire.
#[derive(Serialize)]
struct SignInBody<'a> {
    issuers: Vec<IssuerBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    demo: Option<DemoBody<'a>>,
}

/// What whoever sits at the machine of a demo is let in with.
#[derive(Serialize)]
struct DemoBody<'a> {
    tenant: &'a str,
    token: String,
}

/// One of them. Without addresses, the issuer could not be reached yet.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct IssuerBody<'a> {
    issuer: &'a str,
    client_id: &'a str,
    #[serde(flatten)]
    way: Option<WayBody<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WayBody<'a> {
    authorization_endpoint: &'a str,
    token_endpoint: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_session_endpoint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revocation_endpoint: Option<&'a str>,
    scope: &'a str,
    names_itself: bool,
}

impl<'a> IssuerBody<'a> {
    fn new(sign_in: &'a auth::SignIn) -> Self {
        let auth::SignIn { issuer, client_id, way } = sign_in;
        Self { issuer, client_id, way: way.as_ref().map(WayBody::new) }
    }
}

impl<'a> WayBody<'a> {
    fn new(way: &'a auth::Way) -> Self {
        Self {
            authorization_endpoint: way.authorization.as_str(),
            token_endpoint: way.token.as_str(),
            end_session_endpoint: way.end_session.as_ref().map(|url| url.as_str()),
            revocation_endpoint: way.revocation.as_ref().map(|url| url.as_str()),
            scope: &way.scope,
            names_itself: way.names_itself,
        }
    }
}
