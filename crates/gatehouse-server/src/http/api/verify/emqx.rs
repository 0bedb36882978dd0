//! EMQX: an HTTP authenticator whose response has the device's rights, and an HTTP authorizer.
//!
//! EMQX lets clients through where the status isn't 200, so every response is 200, whatever is wrong.

use gatehouse_core::policy::{PolicyNames, Topic, TopicAction, TopicFilter};
use gatehouse_core::{Access, Dialect, Policy, TenantName};
use http::StatusCode;
use serde_json::{Value, json};

use super::{Credentials, Refused, credentials_of, json_object, log_refusal, username_of};
use crate::app::may::DeviceAction;
use crate::fields::gateway;
use crate::http::answer::problem::{ErrorStyle, Problem};
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::resource::{BodyKind, Need, Operation, ResponseSpec};

pub(in crate::http) const CHECK: Operation = Operation {
    method: "POST",
    id: "verifyEmqx",
    summary: "Checks a device's credentials for EMQX; the answer has the topics that it may use",
    need: Need::Check(Dialect::Emqx),
    errors: ErrorStyle::Dialect(deny),
    body: Some(BodyKind {
        schema: "GatewayCredentials",
        example: || gateway::credentials().example(),
        ..BodyKind::BASE
    }),
    responses: &[ResponseSpec {
        description: "Whether the device may connect, and what it may do then",
        schema: Some("EmqxDecision"),
        headers: &["Cache-Control"],
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(check(call)),
    ..Operation::BASE
};

pub(in crate::http) const AUTHORIZE: Operation = Operation {
    id: "authorizeEmqx",
    summary: "Whether a connected device may use a topic of EMQX",
    body: Some(BodyKind {
        schema: "EmqxAction",
        example: || gateway::emqx_action().example(),
        ..BodyKind::BASE
    }),
    run: |call| Box::pin(authorize(call)),
    ..CHECK
};

async fn check(call: Call) -> Result<Reply, Problem> {
    let body = json_object(&call)?;
    let Credentials { username, password } =
        credentials_of(body["username"].as_str(), body["password"].as_str())?;
    let checked = call.app().verify_with_policy(call.requester(), &username, &password).await;
    let (access, policy) = checked.inspect_err(|error| log_refusal(&call, error))?;
    let mut decision = json!({"result": "allow", "acl": rights(call.tenant(), &access, &policy)});
    if let Some(end) = access.end {
        decision["expire_at"] = end.as_millisecond().div_euclid(1000).into();
    }
    Ok(Reply::json(StatusCode::OK, &decision))
}

/// The rights of a device, as a list that EMQX goes through until a rule fits.
fn rights(tenant: &TenantName, access: &Access, policy: &Policy) -> Vec<Value> {
    let names = PolicyNames::of(tenant, access);
    let rules = policy.rules_of(&names).filter_map(|(topic, rule)| {
        let action = match (rule.publish, rule.subscribe) {
            (true, true) => "all",
            (true, false) => "publish",
            (false, true) => "subscribe",
            (false, false) => return None,
        };
        Some(json!({"permission": "allow", "action": action, "topic": topic}))
    });
    let others = json!({"permission": "deny", "action": "all", "topic": "#"});
    rules.chain([others]).collect()
}

async fn authorize(call: Call) -> Result<Reply, Problem> {
    let body = json_object(&call)?;
    let username = username_of(body["username"].as_str())?;
    let topic = body["topic"].as_str().unwrap_or_default();
    let action = match body["action"].as_str() {
        Some("publish") => Topic::new(topic).map(TopicAction::Publish),
        Some("subscribe") => TopicFilter::new(topic).map(TopicAction::Subscribe),
        _ => None,
    };
    let action = DeviceAction::Topic(action.ok_or(Refused)?);
    match call.app().may(call.tenant(), &username, &[action]).await?[..] {
        [true] => Ok(Reply::json(StatusCode::OK, &json!({"result": "allow"}))),
        _ => Err(Refused.into()),
    }
}

fn deny(_: &Problem) -> Reply {
    Reply::json(StatusCode::OK, &json!({"result": "deny"}))
}
