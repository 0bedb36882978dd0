//! FreeRADIUS' `rlm_rest`: `authorize` and `authenticate` check credentials, `post-auth` and `accounting` are taken.

use gatehouse_core::{Access, Dialect, Timestamp};
use http::StatusCode;
use serde_json::{Value, json};

use super::{Credentials, credentials_of, json_object, log_refusal};
use crate::fields::gateway;
use crate::http::answer::problem::{ErrorStyle, Problem};
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::resource::{BodyKind, Need, Operation, ResponseSpec};

pub(in crate::http) const AUTHORIZE: Operation = Operation {
    method: "POST",
    id: "authorizeRadius",
    summary: "Checks a device's credentials for FreeRADIUS, and says what the reply holds",
    need: Need::Check(Dialect::Radius),
    errors: ErrorStyle::Dialect(deny),
    body: Some(BodyKind {
        schema: "GatewayCredentials",
        example: || gateway::credentials().example(),
        ..BodyKind::BASE
    }),
    responses: &[
        ResponseSpec {
            description: "The device may connect",
            schema: Some("RadiusDecision"),
            headers: &["Cache-Control"],
            ..ResponseSpec::BASE
        },
        ResponseSpec {
            status: 401,
            description: "The device may not connect, or the hook key is wrong",
            schema: Some("RadiusRefusal"),
            headers: &["Cache-Control"],
            ..ResponseSpec::BASE
        },
        ResponseSpec {
            status: 503,
            description: "The credentials can't be checked now",
            schema: Some("RadiusRefusal"),
            headers: &["Cache-Control"],
            ..ResponseSpec::BASE
        },
    ],
    run: |call| Box::pin(check(call)),
    ..Operation::BASE
};

pub(in crate::http) const AUTHENTICATE: Operation = Operation {
    id: "authenticateRadius",
    summary: "Checks a device's credentials for FreeRADIUS",
    ..AUTHORIZE
};

pub(in crate::http) const POST_AUTH: Operation = Operation {
    id: "postAuthRadius",
    summary: "Takes what FreeRADIUS tells after a check; nothing is kept of it",
    responses: TAKEN,
    run: |_| Box::pin(async { Ok(Reply::empty(StatusCode::NO_CONTENT)) }),
    ..AUTHORIZE
};

pub(in crate::http) const ACCOUNTING: Operation = Operation {
    id: "accountRadius",
    summary: "Takes what FreeRADIUS tells about a session; nothing is kept of it",
    ..POST_AUTH
};

const TAKEN: &[ResponseSpec] = &[
    ResponseSpec {
        status: 204,
        description: "It was taken",
        headers: &["Cache-Control"],
        ..ResponseSpec::BASE
    },
    ResponseSpec {
        status: 401,
        description: "The hook key is wrong",
        schema: Some("RadiusRefusal"),
        headers: &["Cache-Control"],
        ..ResponseSpec::BASE
    },
];

async fn check(call: Call) -> Result<Reply, Problem> {
    let body = json_object(&call)?;
    let Credentials { username, password } =
        credentials_of(body["username"].as_str(), body["password"].as_str())?;
    let checked = call.app().verify(call.requester(), &username, &password).await;
    let access = checked.inspect_err(|error| log_refusal(&call, error))?;
    Ok(Reply::json(StatusCode::OK, &reply_of(&access, call.app().now())))
}

/// The attributes of an accepted device.
fn reply_of(access: &Access, now: Timestamp) -> Value {
    let mut reply = json!({
        "control:Auth-Type": "Accept",
        "reply:Class": access.id.to_string(),
    });
    if let Some(end) = access.end {
        let seconds = (end.as_millisecond() - now.as_millisecond()).div_euclid(1000);
        reply["reply:Session-Timeout"] = seconds.clamp(1, u32::MAX.into()).into();
    }
    reply
}

fn deny(problem: &Problem) -> Reply {
    let (status, message) = match problem.is_temporary() {
        true => (StatusCode::SERVICE_UNAVAILABLE, "The credentials can't be checked now"),
        false => (StatusCode::UNAUTHORIZED, "The device may not connect"),
    };
    Reply::json(status, &json!({"reply:Reply-Message": message}))
}
