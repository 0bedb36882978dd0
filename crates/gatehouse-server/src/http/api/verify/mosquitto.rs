//! The HTTP backend of mosquitto-go-auth: `user`, `superuser` and `acl`. It can send no header of its own.

use gatehouse_core::Dialect;
use gatehouse_core::policy::{Topic, TopicAction, TopicFilter};
use http::StatusCode;
use serde_json::json;

use super::{Credentials, Refused, credentials_of, json_object, log_refusal, username_of};
use crate::app::may::DeviceAction;
use crate::fields::gateway;
use crate::http::answer::problem::{ErrorStyle, Problem};
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::resource::{BodyKind, Need, Operation, ResponseSpec};

const RESPONSES: &[ResponseSpec] = &[
    ResponseSpec {
        description: "The device may",
        schema: Some("MosquittoDecision"),
        headers: &["Cache-Control"],
        ..ResponseSpec::BASE
    },
    ResponseSpec {
        status: 403,
        description: "The device may not, or the hook key is wrong",
        schema: Some("MosquittoDecision"),
        headers: &["Cache-Control"],
        ..ResponseSpec::BASE
    },
    ResponseSpec {
        status: 503,
        description: "Nothing can be checked now",
        schema: Some("MosquittoDecision"),
        headers: &["Cache-Control"],
        ..ResponseSpec::BASE
    },
];

pub(in crate::http) const USER: Operation = Operation {
    method: "POST",
    id: "verifyMosquittoUser",
    summary: "Checks a device's credentials for mosquitto-go-auth",
    need: Need::Check(Dialect::Mosquitto),
    errors: ErrorStyle::Dialect(deny),
    body: Some(BodyKind {
        schema: "GatewayCredentials",
        example: || gateway::credentials().example(),
        ..BodyKind::BASE
    }),
    responses: RESPONSES,
    run: |call| Box::pin(user(call)),
    ..Operation::BASE
};

pub(in crate::http) const SUPERUSER: Operation = Operation {
    id: "verifyMosquittoSuperuser",
    summary: "Whether a device may do everything: it never may",
    run: |_| Box::pin(async { Err(Refused.into()) }),
    ..USER
};

pub(in crate::http) const ACL: Operation = Operation {
    id: "verifyMosquittoAcl",
    summary: "Whether a connected device may use a topic of Mosquitto",
    body: Some(BodyKind {
        schema: "MosquittoAction",
        example: || gateway::mosquitto_action().example(),
        ..BodyKind::BASE
    }),
    run: |call| Box::pin(acl(call)),
    ..USER
};

async fn user(call: Call) -> Result<Reply, Problem> {
    let body = json_object(&call)?;
    let Credentials { username, password } =
        credentials_of(body["username"].as_str(), body["password"].as_str())?;
    let checked = call.app().verify(call.requester(), &username, &password).await;
    checked.inspect_err(|error| log_refusal(&call, error))?;
    Ok(allow())
}

async fn acl(call: Call) -> Result<Reply, Problem> {
    let body = json_object(&call)?;
    let username = username_of(body["username"].as_str())?;
    let actions = actions(&body["acc"], body["topic"].as_str().unwrap_or_default());
    let actions = actions.ok_or(Refused)?;
    let decisions = call.app().may(call.tenant(), &username, &actions).await?;
    if decisions.into_iter().all(|it| it) { Ok(allow()) } else { Err(Refused.into()) }
}

/// The actions that Mosquitto asks for: reading is getting a message, which it asks before each.
fn actions<'t>(access: &serde_json::Value, topic: &'t str) -> Option<Vec<DeviceAction<'t>>> {
    let receive = || Topic::new(topic).map(TopicAction::Receive);
    let publish = || Topic::new(topic).map(TopicAction::Publish);
    let actions = match access.as_u64()? {
        1 => vec![receive()?],
        2 => vec![publish()?],
        3 => vec![receive()?, publish()?],
        4 => vec![TopicAction::Subscribe(TopicFilter::new(topic)?)],
        _ => return None,
    };
    Some(actions.into_iter().map(DeviceAction::Topic).collect())
}

fn allow() -> Reply {
    Reply::json(StatusCode::OK, &json!({"ok": true, "error": ""}))
}

fn deny(problem: &Problem) -> Reply {
    let (status, error) = match problem.is_temporary() {
        true => (StatusCode::SERVICE_UNAVAILABLE, "nothing can be checked now"),
        false => (StatusCode::FORBIDDEN, "denied"),
    };
    Reply::json(status, &json!({"ok": false, "error": error}))
}
