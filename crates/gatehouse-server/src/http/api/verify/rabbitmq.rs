//! RabbitMQ's HTTP backend: `user` checks credentials, `vhost`, `resource` and `topic` ask what a connected device may do.
//!
//! Every response is 200 with a text. The MQTT plugin writes topics as routing keys and asks for a queue of its own for
//! every subscription; nothing else of the broker is for devices.

use std::collections::HashMap;

use bytes::Bytes;
use gatehouse_core::Dialect;
use gatehouse_core::policy::{Tag, Topic, TopicAction, TopicFilter};
use http::{Method, StatusCode};

use super::{Credentials, Refused, credentials_of, log_refusal, username_of};
use crate::app::may::DeviceAction;
use crate::http::answer::media::{FORM, TEXT};
use crate::http::answer::problem::{ErrorStyle, Problem};
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::resource::{BodyKind, Handler, Need, Operation, ResponseSpec};

/// The exchange of the MQTT plugin.
const TOPIC_EXCHANGE: &str = "amq.topic";

/// Begins the name of a queue that the MQTT plugin makes for a subscription.
const SUBSCRIPTION_QUEUE: &str = "mqtt-subscription-";

/// Both methods that RabbitMQ can be told to use.
pub(in crate::http) const USER: [Operation; 2] = both(
    ["verifyRabbitMqUser", "verifyRabbitMqUserByGet"],
    "Checks a device's credentials for RabbitMQ; the answer may have tags",
    |call| Box::pin(user(call)),
);
pub(in crate::http) const VHOST: [Operation; 2] = both(
    ["verifyRabbitMqVhost", "verifyRabbitMqVhostByGet"],
    "Whether a connected device may use RabbitMQ",
    |call| Box::pin(vhost(call)),
);
pub(in crate::http) const RESOURCE: [Operation; 2] = both(
    ["verifyRabbitMqResource", "verifyRabbitMqResourceByGet"],
    "Whether a connected device may use an exchange or a queue of RabbitMQ",
    |call| Box::pin(resource(call)),
);
pub(in crate::http) const TOPIC: [Operation; 2] = both(
    ["verifyRabbitMqTopic", "verifyRabbitMqTopicByGet"],
    "Whether a connected device may use a topic of RabbitMQ",
    |call| Box::pin(topic(call)),
);

const fn both(ids: [&'static str; 2], summary: &'static str, run: Handler) -> [Operation; 2] {
    const POST: Operation = Operation {
        method: "POST",
        need: Need::Check(Dialect::RabbitMq),
        errors: ErrorStyle::Dialect(deny),
        body: Some(BodyKind {
            media_types: &[FORM],
            schema: "RabbitMqCheck",
            example: || crate::fields::gateway::rabbitmq_check().example(),
            ..BodyKind::BASE
        }),
        responses: &[ResponseSpec {
            description: "`allow`, perhaps with tags, or `deny`",
            media_type: TEXT,
            schema: Some("RabbitMqDecision"),
            headers: &["Cache-Control"],
            ..ResponseSpec::BASE
        }],
        ..Operation::BASE
    };
    [
        Operation { id: ids[0], summary, run, ..POST },
        Operation { method: "GET", id: ids[1], summary, run, body: None, ..POST },
    ]
}

/// The parameters of a request: those of its form, or of its query.
struct Parameters(HashMap<String, String>);

impl Parameters {
    fn of(call: &Call) -> Result<Self, Refused> {
        let given = match call.parts.method {
            Method::POST => &call.body[..],
            _ => call.parts.uri.query().unwrap_or_default().as_bytes(),
        };
        let mut parameters = HashMap::new();
        for (name, value) in form_urlencoded::parse(given) {
            // Two values are ambiguous.
            if parameters.insert(name.into_owned(), value.into_owned()).is_some() {
                return Err(Refused);
            }
        }
        Ok(Self(parameters))
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

async fn user(call: Call) -> Result<Reply, Problem> {
    let parameters = Parameters::of(&call)?;
    let Credentials { username, password } =
        credentials_of(parameters.get("username"), parameters.get("password"))?;
    let checked = call.app().verify_with_policy(call.requester(), &username, &password).await;
    let (_, policy) = checked.inspect_err(|error| log_refusal(&call, error))?;
    let tags = policy.tags.iter().map(|tag| format!(" {}", Tag::as_str(*tag)));
    Ok(decision(format!("allow{}", tags.collect::<String>())))
}

async fn vhost(call: Call) -> Result<Reply, Problem> {
    let parameters = Parameters::of(&call)?;
    may(&call, &parameters, DeviceAction::Connect).await
}

async fn resource(call: Call) -> Result<Reply, Problem> {
    let parameters = Parameters::of(&call)?;
    let [kind, name, permission] =
        ["resource", "name", "permission"].map(|it| parameters.get(it).unwrap_or_default());
    let action = match (kind, permission) {
        ("exchange", "write") if name == TOPIC_EXCHANGE => DeviceAction::PublishAny,
        ("exchange", "read") if name == TOPIC_EXCHANGE => DeviceAction::SubscribeAny,
        ("queue", "configure" | "write" | "read") if name.starts_with(SUBSCRIPTION_QUEUE) => {
            DeviceAction::SubscribeAny
        }
        _ => return Err(Refused.into()),
    };
    may(&call, &parameters, action).await
}

async fn topic(call: Call) -> Result<Reply, Problem> {
    let parameters = Parameters::of(&call)?;
    let [kind, exchange, permission, key] = ["resource", "name", "permission", "routing_key"]
        .map(|it| parameters.get(it).unwrap_or_default());
    if kind != "topic" || exchange != TOPIC_EXCHANGE {
        return Err(Refused.into());
    }
    let topic = mqtt_topic(key);
    let action = match permission {
        "write" => Topic::new(&topic).map(TopicAction::Publish),
        "read" => TopicFilter::new(&topic).map(TopicAction::Subscribe),
        _ => None,
    };
    may(&call, &parameters, DeviceAction::Topic(action.ok_or(Refused)?)).await
}

/// The topic of a routing key: the MQTT plugin writes `.` for `/`, `/` for `.`, and `*` for `+`.
fn mqtt_topic(key: &str) -> String {
    let translated = key.chars().map(|c| match c {
        '.' => '/',
        '/' => '.',
        '*' => '+',
        other => other,
    });
    translated.collect()
}

async fn may(
    call: &Call,
    parameters: &Parameters,
    action: DeviceAction<'_>,
) -> Result<Reply, Problem> {
    let username = username_of(parameters.get("username"))?;
    match call.app().may(call.tenant(), &username, &[action]).await?[..] {
        [true] => Ok(decision("allow".to_owned())),
        _ => Err(Refused.into()),
    }
}

fn decision(text: String) -> Reply {
    Reply::whole(StatusCode::OK, TEXT, Bytes::from(text))
}

fn deny(_: &Problem) -> Reply {
    decision("deny".to_owned())
}

#[cfg(test)]
mod tests {
    use super::mqtt_topic;

    #[test]
    fn a_routing_key_is_read_as_the_topic_that_it_was() {
        for (key, topic) in
            [("a.b.c", "a/b/c"), ("a.*.#", "a/+/#"), ("v1/2.b", "v1.2/b"), ("", ""), ("#", "#")]
        {
            assert_eq!(mqtt_topic(key), topic);
        }
    }
}
