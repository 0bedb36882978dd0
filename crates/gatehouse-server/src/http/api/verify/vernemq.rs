//! VerneMQ's webhooks: the header `vernemq-hook` names the hook that is called. Only a response with 200 counts.

use gatehouse_core::Dialect;
use gatehouse_core::policy::{Topic, TopicAction, TopicFilter};
use http::StatusCode;
use serde_json::{Map, Value, json};

use super::{Credentials, Refused, credentials_of, json_object, log_refusal, username_of};
use crate::app::may::DeviceAction;
use crate::fields::gateway;
use crate::http::answer::problem::{ErrorStyle, Problem};
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::resource::{BodyKind, Need, Operation, ResponseSpec};

/// Header with the name of the hook.
const VERNEMQ_HOOK: &str = "vernemq-hook";

/// A refused topic in MQTT 3.1.1, and in MQTT 5.
const REFUSED_QOS: u64 = 128;
const REFUSED_QOS_M5: u64 = 135;

pub(in crate::http) const CHECK: Operation = Operation {
    method: "POST",
    id: "verifyVerneMq",
    summary: "Answers a webhook of VerneMQ: `auth_on_register`, `auth_on_publish` or `auth_on_subscribe`, also with `_m5`",
    need: Need::Check(Dialect::VerneMq),
    errors: ErrorStyle::Dialect(deny),
    headers: &["vernemq-hook"],
    body: Some(BodyKind {
        schema: "VerneMqHook",
        example: || gateway::vernemq_hook().example(),
        ..BodyKind::BASE
    }),
    responses: &[ResponseSpec {
        description: "What the device may, or an error",
        schema: Some("VerneMqDecision"),
        headers: &["Cache-Control"],
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(check(call)),
    ..Operation::BASE
};

async fn check(call: Call) -> Result<Reply, Problem> {
    let mut given = call.headers().get_all(VERNEMQ_HOOK).iter();
    let hook = given.next().filter(|_| given.next().is_none()).and_then(|it| it.to_str().ok());
    let (hook, is_m5) = match hook.unwrap_or_default() {
        hook if hook.ends_with("_m5") => (hook.trim_end_matches("_m5").to_owned(), true),
        hook => (hook.to_owned(), false),
    };
    let body = json_object(&call)?;
    match hook.as_str() {
        "auth_on_register" => register(&call, &body).await,
        "auth_on_publish" => publish(&call, &body).await,
        "auth_on_subscribe" => subscribe(&call, &body, is_m5).await,
        _ => Err(Refused.into()),
    }
}

async fn register(call: &Call, body: &Value) -> Result<Reply, Problem> {
    let Credentials { username, password } =
        credentials_of(body["username"].as_str(), body["password"].as_str())?;
    let checked = call.app().verify(call.requester(), &username, &password).await;
    checked.inspect_err(|error| log_refusal(call, error))?;
    Ok(decision(&json!({"result": "ok"})))
}

async fn publish(call: &Call, body: &Value) -> Result<Reply, Problem> {
    let username = username_of(body["username"].as_str())?;
    let topic = body["topic"].as_str().and_then(Topic::new).ok_or(Refused)?;
    let action = DeviceAction::Topic(TopicAction::Publish(topic));
    match call.app().may(call.tenant(), &username, &[action]).await?[..] {
        [true] => Ok(decision(&json!({"result": "ok"}))),
        _ => Err(Refused.into()),
    }
}

/// Decides on each topic. Where only some are refused, the response repeats all of them.
async fn subscribe(call: &Call, body: &Value, is_m5: bool) -> Result<Reply, Problem> {
    let username = username_of(body["username"].as_str())?;
    let topics: Vec<&Map<String, Value>> = body["topics"]
        .as_array()
        .and_then(|topics| topics.iter().map(Value::as_object).collect())
        .ok_or(Refused)?;
    let filters: Vec<Option<TopicFilter<'_>>> =
        topics.iter().map(|it| it.get("topic")?.as_str().and_then(TopicFilter::new)).collect();
    let actions: Vec<DeviceAction<'_>> = filters
        .iter()
        .flatten()
        .map(|filter| DeviceAction::Topic(TopicAction::Subscribe(*filter)))
        .collect();
    let mut decisions = call.app().may(call.tenant(), &username, &actions).await?.into_iter();
    let is_allowed: Vec<bool> =
        filters.iter().map(|it| it.is_some() && decisions.next() == Some(true)).collect();
    if !is_allowed.contains(&true) {
        return Err(Refused.into());
    }
    if !is_allowed.contains(&false) {
        return Ok(decision(&json!({"result": "ok"})));
    }
    let refused_qos = if is_m5 { REFUSED_QOS_M5 } else { REFUSED_QOS };
    let topics: Vec<Value> = topics
        .into_iter()
        .zip(is_allowed)
        .map(|(given, is_allowed)| {
            let mut topic = given.clone();
            if !is_allowed {
                topic.insert("qos".into(), refused_qos.into());
            }
            topic.into()
        })
        .collect();
    Ok(decision(&match is_m5 {
        true => json!({"result": "ok", "modifiers": {"topics": topics}}),
        false => json!({"result": "ok", "topics": topics}),
    }))
}

fn decision(body: &Value) -> Reply {
    Reply::json(StatusCode::OK, body)
}

fn deny(_: &Problem) -> Reply {
    decision(&json!({"result": {"error": "not_allowed"}}))
}
