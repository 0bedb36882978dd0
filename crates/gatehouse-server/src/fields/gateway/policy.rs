//! The fields of a contract's policy.

use gatehouse_core::Policy;
use gatehouse_core::policy::{TOPIC_CHARS_MAX, TOPIC_RULES_MAX, Tag, TopicPattern, TopicRule};
use serde_json::{Value, json};

use crate::fields::shape::reference;
use crate::fields::{Body, Object, Schema, may, must};
use crate::reader::{
    Array, Direction, Fault, Faults, Field, Flag, Form, Json, OneOf, Readable, Reader, Shape, Text,
    object,
};

pub(crate) const POLICY: Field<Shape> = Field::new(
    "policy",
    Shape(|| reference("Policy")),
    "What the contract's devices may do at a broker. Without it a device may connect, and nothing beyond",
);

const TOPICS: Field<Array> = Field::new(
    "topics",
    Array(|| {
        json!({
            "type": "array", "maxItems": TOPIC_RULES_MAX,
            "items": reference("TopicRule"),
        })
    }),
    "Topics that a device may use; all others are denied",
)
.example_of(|| json!([topic_rule().example()]));

const TOPIC: Field<Text<TopicPattern>> = Field::new(
    "topic",
    Text::new(|| {
        json!({
            "type": "string", "minLength": 1, "maxLength": TOPIC_CHARS_MAX,
            "pattern": format!("^({LEVEL}/)*({LEVEL}|#)$"),
        })
    }),
    "An MQTT topic or filter. `{tenant}`, `{username}`, `{accessId}` and `{contractId}` stand for the device's; a rule \
     whose placeholder stands for a name with other characters than letters, digits, `_`, `:`, `@`, `=` and `-` denies",
)
.example("devices/{username}/#");

/// A level of a topic, as a regular expression.
const LEVEL: &str = r"(\+|([A-Za-z0-9_:@=-]|\{(tenant|username|accessId|contractId)\})+)";

const PUBLISH: Field<Flag> =
    Field::new("publish", Flag, "Whether the device may publish to it").example_of(|| true.into());

const SUBSCRIBE: Field<Flag> =
    Field::new("subscribe", Flag, "Whether the device may subscribe to it")
        .example_of(|| true.into());

const TAG: OneOf<Tag> = OneOf { all: &Tag::ALL, as_str: Tag::as_str };

const TAGS: Field<Array> = Field::new(
    "tags",
    Array(|| {
        json!({
            "type": "array", "maxItems": Tag::ALL.len(), "items": TAG.schema(Direction::Request),
        })
    }),
    "Tags of the device as a user of RabbitMQ, which give rights at its management interface; usually none",
);

/// Takes the policy of a contract; an empty one where the body has none, or a faulty one.
pub(crate) fn optional_policy(body: &mut Reader<'_>) -> Policy {
    let mut faults = Faults::default();
    let policy = body.optional_by(POLICY, |json| Ok(read(object(json)?, &mut faults)));
    for Fault { name, reason } in faults.check().err().unwrap_or_default() {
        body.fault(&name, reason);
    }
    policy.unwrap_or_default()
}

fn read(json: Json, faults: &mut Faults) -> Policy {
    let mut reader = Reader::new(json, POLICY.name, faults);
    let topics = reader.optional(TOPICS).unwrap_or_default();
    let tags = reader.optional(TAGS).unwrap_or_default();
    reader.finish();
    let name = |field: &str| format!("{}.{field}", POLICY.name);
    if topics.len() > TOPIC_RULES_MAX {
        let n = topics.len();
        faults.add(name(TOPICS.name), format!("may have at most {TOPIC_RULES_MAX} rules, not {n}"));
        return Policy::default();
    }
    let mut policy = Policy::default();
    for (n, json) in topics.into_iter().enumerate() {
        let mut reader = Reader::new(json, &format!("{}[{n}]", name(TOPICS.name)), faults);
        let topic = reader.required(TOPIC);
        let (publish, subscribe) = (reader.optional(PUBLISH), reader.optional(SUBSCRIBE));
        reader.finish();
        let (publish, subscribe) = (publish.unwrap_or_default(), subscribe.unwrap_or_default());
        if let Some(topic) = topic.into_option() {
            policy.topics.push(TopicRule { topic, publish, subscribe });
        }
    }
    for (n, json) in tags.into_iter().enumerate() {
        match TAG.read(json) {
            Ok(tag) => drop(policy.tags.insert(tag)),
            Err(reason) => faults.add(format!("{}[{n}]", name(TAGS.name)), reason),
        }
    }
    policy
}

/// A policy in a contract; `None` if it says nothing.
pub(crate) fn policy_body(policy: &Policy) -> Option<Value> {
    let topics: Vec<Body> = policy
        .topics
        .iter()
        .map(|rule| {
            Body::default()
                .put(TOPIC, rule.topic.as_str())
                .put(PUBLISH, rule.publish)
                .put(SUBSCRIBE, rule.subscribe)
        })
        .collect();
    let tags: Vec<&str> = policy.tags.iter().map(|tag| tag.as_str()).collect();
    let body = Body::default()
        .put_some(TOPICS, (!topics.is_empty()).then_some(topics))
        .put_some(TAGS, (!tags.is_empty()).then_some(tags));
    (!policy.is_empty()).then(|| body.into())
}

fn topic_rule() -> Object {
    Object::request(
        "TopicRule",
        "Topics that a device may use, and how",
        [must(TOPIC), may(PUBLISH).in_example(), may(SUBSCRIBE).in_example()],
    )
}

/// The schemas of policies.
pub(crate) fn schemas() -> Vec<Schema> {
    vec![
        topic_rule().into(),
        Object::request(
            "Policy",
            "What the devices of a contract may do",
            [may(TOPICS), may(TAGS)],
        )
        .into(),
    ]
}
