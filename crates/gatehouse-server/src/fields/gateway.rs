//! The requests and responses of gateways, in their dialects; hooks and policies have files of their own. Other programs
//! decide on these forms: fields that aren't described here are ignored.

pub(crate) mod hook;
pub(crate) mod policy;

use serde_json::{Value, json};

use super::{Object, Schema, may, must};
use crate::reader::{Field, Shape};

const USERNAME: Field<Shape> =
    Field::new("username", Shape(text), "The device's username").example("meter-1");

const PASSWORD: Field<Shape> = Field::new(
    "password",
    Shape(|| json!({"type": ["string", "null"], "format": "password"})),
    "The device's password",
)
.example("secret");

const CLIENT_ID: Field<Shape> =
    Field::new("clientid", Shape(any_text), "The device's identifier in MQTT; it decides nothing")
        .example("meter-1");

const TOPIC: Field<Shape> =
    Field::new("topic", Shape(text), "The topic").example("devices/meter-1/up");

const PERMISSION: Field<Shape> =
    Field::new("permission", Shape(text), "`configure`, `write` or `read`").example("write");

const RESOURCE: Field<Shape> =
    Field::new("resource", Shape(text), "`exchange`, `queue` or `topic`").example("topic");

const NAME: Field<Shape> =
    Field::new("name", Shape(text), "The name of the exchange or queue").example("amq.topic");

const ROUTING_KEY: Field<Shape> =
    Field::new("routing_key", Shape(text), "The topic, as a routing key")
        .example("devices.meter-1.up");

const ACTION: Field<Shape> =
    Field::new("action", Shape(text), "`publish` or `subscribe`").example("publish");

const ACC: Field<Shape> = Field::new(
    "acc",
    Shape(|| json!({"type": "integer"})),
    "1 to get a message, 2 to publish, 3 for both, 4 to subscribe",
)
.example_of(|| 2.into());

const TOPICS: Field<Shape> = Field::new(
    "topics",
    Shape(|| {
        json!({
            "type": "array",
            "items": {
                "type": "object", "required": ["topic"],
                "properties": {
                    "topic": {"type": "string", "description": "The topic, perhaps with wildcards"},
                    "qos": {"type": "integer", "description": "The quality of service"},
                },
                "additionalProperties": {},
            },
        })
    }),
    "The topics of a subscription",
);

fn text() -> Value {
    json!({"type": "string"})
}

fn any_text() -> Value {
    json!({"type": ["string", "null"]})
}

/// Credentials of a device.
pub(crate) fn credentials() -> Object {
    Object::request(
        "GatewayCredentials",
        "A device's credentials; further fields are ignored",
        [must(USERNAME), must(PASSWORD), may(CLIENT_ID).in_example()],
    )
    .open()
}

/// The parameters of RabbitMQ.
pub(crate) fn rabbitmq_check() -> Object {
    Object::request(
        "RabbitMqCheck",
        "Parameters of RabbitMQ's HTTP backend; further ones are ignored",
        [
            must(USERNAME),
            may(PASSWORD).in_example(),
            may(RESOURCE).in_example(),
            may(NAME).in_example(),
            may(PERMISSION).in_example(),
            may(ROUTING_KEY).in_example(),
        ],
    )
    .open()
}

/// A question of EMQX's authorizer.
pub(crate) fn emqx_action() -> Object {
    Object::request(
        "EmqxAction",
        "What a device wants to do; further fields are ignored",
        [must(USERNAME), must(TOPIC), must(ACTION)],
    )
    .open()
}

/// A question of mosquitto-go-auth.
pub(crate) fn mosquitto_action() -> Object {
    Object::request(
        "MosquittoAction",
        "What a device wants to do; further fields are ignored",
        [must(USERNAME), must(TOPIC), must(ACC)],
    )
    .open()
}

/// The body of a webhook of VerneMQ.
pub(crate) fn vernemq_hook() -> Object {
    Object::request(
        "VerneMqHook",
        "The body of a webhook; further fields are ignored",
        [must(USERNAME), may(PASSWORD).in_example(), may(TOPIC), may(TOPICS)],
    )
    .open()
}

/// The schemas of gateways.
pub(crate) fn schemas() -> Vec<Schema> {
    [hook::schemas(), policy::schemas(), dialects()].into_iter().flatten().collect()
}

fn dialects() -> Vec<Schema> {
    vec![
        credentials().into(),
        rabbitmq_check().into(),
        emqx_action().into(),
        mosquitto_action().into(),
        vernemq_hook().into(),
        Schema::new(
            "RabbitMqDecision",
            json!({
                "description": "The decision, perhaps with tags",
                "type": "string",
                "pattern": "^(deny|allow( (administrator|management|monitoring|policymaker))*)$",
            }),
        )
        .example("allow"),
        Schema::new(
            "EmqxDecision",
            json!({
                "description": "The decision, with the rights of a device that may connect",
                "type": "object", "required": ["result"],
                "properties": {
                    "result": {"enum": ["allow", "deny"], "description": "The decision"},
                    "expire_at": {"type": "integer", "description": "The end of the access, in seconds"},
                    "acl": {
                        "type": "array", "description": "What the device may do; the first rule that fits counts",
                        "items": {
                            "type": "object", "required": ["permission", "action", "topic"],
                            "properties": {
                                "permission": {"enum": ["allow", "deny"], "description": "The decision"},
                                "action": {
                                    "enum": ["publish", "subscribe", "all"], "description": "The use",
                                },
                                "topic": {"type": "string", "description": "The topics"},
                            },
                            "additionalProperties": false,
                        },
                    },
                },
                "additionalProperties": false,
            }),
        )
        .example(json!({
            "result": "allow",
            "acl": [
                {"permission": "allow", "action": "all", "topic": "devices/meter-1/#"},
                {"permission": "deny", "action": "all", "topic": "#"},
            ],
        })),
        Schema::new(
            "MosquittoDecision",
            json!({
                "description": "The decision",
                "type": "object", "required": ["ok", "error"],
                "properties": {
                    "ok": {"type": "boolean", "description": "Whether the device may"},
                    "error": {"type": "string", "description": "Why not; empty if it may"},
                },
                "additionalProperties": false,
            }),
        )
        .example(json!({"ok": true, "error": ""})),
        Schema::new(
            "VerneMqDecision",
            json!({
                "description": "The decision",
                "type": "object", "required": ["result"],
                "properties": {
                    "result": {"description": "`ok`, or an object with an error"},
                    "topics": {
                        "type": "array", "items": {"type": "object"},
                        "description": "All topics of a subscription, where some are refused: those have the `qos` 128",
                    },
                    "modifiers": {
                        "type": "object",
                        "description": "The topics in MQTT 5, where some are refused: those have the `qos` 135",
                    },
                },
                "additionalProperties": false,
            }),
        )
        .example(json!({"result": "ok"})),
        Schema::new(
            "RadiusDecision",
            json!({
                "description": "The attributes of a device that may connect",
                "type": "object", "required": ["control:Auth-Type"],
                "properties": {
                    "control:Auth-Type": {"enum": ["Accept"], "description": "The decision"},
                    "reply:Class": {"type": "string", "description": "The access's identifier"},
                    "reply:Session-Timeout": {
                        "type": "integer", "description": "Seconds to the end of the access",
                    },
                },
                "additionalProperties": {},
            }),
        )
        .example(json!({
            "control:Auth-Type": "Accept", "reply:Class": "019a0000-0000-7000-8000-000000000000",
        })),
        Schema::new(
            "RadiusRefusal",
            json!({
                "description": "The attributes of a refusal",
                "type": "object", "required": ["reply:Reply-Message"],
                "properties": {"reply:Reply-Message": {"type": "string", "description": "Why not"}},
                "additionalProperties": false,
            }),
        )
        .example(json!({"reply:Reply-Message": "The device may not connect"})),
    ]
}
