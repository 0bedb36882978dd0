//! The fields of a hub: a tenant's subscription to its events.

use gatehouse_core::hub::{CALLBACK_CHARS_MAX, HubQuery, HubState};
use gatehouse_core::{Hub, Timestamp};
use gatehouse_store::{SentMessage, StoredHub, UndeliveredEvent};
use serde_json::{Value, json};

use super::shape::{count, reference, text};
use super::{Body, Object, Schema, may, must};
use crate::reader::{
    Direction, Field, Form, Instant, Integer, Json, Readable, Shape, Text, True, shortened,
};

pub(crate) const ID: Field<Shape> = Field::new(
    "id",
    Shape(|| json!({"type": "string", "pattern": "^hub-[0-9a-f-]{36}$"})),
    "The hub's identifier",
)
.example("hub-01a1dd4d-f0c1-7a3e-8b52-9f3d1c000000");

pub(crate) const CALLBACK: Field<CallbackForm> = Field::new(
    "callback",
    CallbackForm,
    "The URL that events are sent to: https, at a public address",
)
.example("https://crm.example.com/events");

pub(crate) const QUERY: Field<Text<HubQuery>> = Field::new(
    "query",
    Text::new(query),
    "Which events, and in which form: `eventType`, `accessId`, `contractId`, `format` (`tmf`, `cloudevents` or \
     `cloudevents-binary`) and `batch` (1 to 1000 events in one message), with `&` between them. Left out or empty: \
     every event, one in a message",
)
.example("eventType=AccessStateChangeEvent&batch=100");

pub(crate) const STATE: Field<StateForm> = Field::new(
    "state",
    StateForm,
    "`PAUSED`: events wait, as long as they are kept. `ACTIVE`: they are sent",
)
.example("ACTIVE");

pub(crate) const ROTATE_SECRET: Field<True> = Field::new(
    "rotateSecret",
    True,
    "Makes a new secret, which is shown in the response. For a day, messages are signed with the former one, too",
);

pub(crate) const SECRET: Field<Shape> = Field::new(
    "secret",
    Shape(|| json!({"type": "string", "format": "password"})),
    "The secret that messages are signed with, as Standard Webhooks has it. Shown only here",
)
.example("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");

pub(crate) const CREATED_AT: Field<Instant> =
    Field::new("createdAt", Instant, "When the hub was made").example("2026-11-15T09:59:12.335Z");

pub(crate) const FORMER_SECRET_UNTIL: Field<Instant> = Field::new(
    "formerSecretUntil",
    Instant,
    "Until when messages are signed with the former secret, too",
);

pub(crate) const POSITION: Field<Shape> = Field::new(
    "position",
    Shape(count),
    "Every event up to this number was delivered, waits for another attempt, or is a dead letter",
)
.example_of(|| 4711.into());

pub(crate) const BEHIND: Field<Shape> = Field::new(
    "behind",
    Shape(count),
    "Events behind the position, of whatever type, that were not looked at yet",
)
.example_of(|| 0.into());

pub(crate) const WAITING: Field<Shape> =
    Field::new("waiting", Shape(count), "Events that wait for another attempt")
        .example_of(|| 0.into());

pub(crate) const DEAD_LETTERS: Field<Shape> = Field::new(
    "deadLetters",
    Shape(count),
    "Events that are not tried any more, until they are sent again by request",
)
.example_of(|| 0.into());

pub(crate) const MISSED: Field<Shape> = Field::new(
    "missed",
    Shape(count),
    "Events that were deleted for their age before they were delivered",
)
.example_of(|| 0.into());

pub(crate) const FAILING_SINCE: Field<Instant> =
    Field::new("failingSince", Instant, "Since when no message was delivered");

pub(crate) const NEXT_ATTEMPT: Field<Instant> = Field::new(
    "nextAttempt",
    Instant,
    "When the next message is sent to a subscriber that can't be reached",
);

pub(crate) const EVENT_NUMBER: Field<Shape> =
    Field::new("eventNumber", Shape(count), "Number of the event; of several, of the first one")
        .example_of(|| 4711.into());

pub(crate) const EVENTS: Field<Shape> =
    Field::new("events", Shape(count), "Number of events in the message").example_of(|| 1.into());

pub(crate) const SENT_AT: Field<Instant> =
    Field::new("sentAt", Instant, "When the message was sent").example("2026-11-15T09:59:12.335Z");

pub(crate) const STATUS: Field<Shape> = Field::new(
    "status",
    Shape(|| json!({"type": "integer", "minimum": 100, "maximum": 999})),
    "Status of the response, if there was one",
)
.example_of(|| 204.into());

pub(crate) const DURATION: Field<Shape> =
    Field::new("durationMilliseconds", Shape(count), "Time until the response")
        .example_of(|| 12.into());

pub(crate) const ERROR: Field<Shape> =
    Field::new("error", Shape(text), "Why the message was not delivered");

pub(crate) const ATTEMPTS: Field<Shape> =
    Field::new("attempts", Shape(count), "Attempts to deliver it").example_of(|| 9.into());

pub(crate) const SINCE: Field<Instant> =
    Field::new("since", Instant, "Since when it should have been delivered")
        .example("2026-11-12T09:59:12.335Z");

pub(crate) const EVENT_NUMBERS: Field<Numbers> =
    Field::new("eventNumbers", Numbers, "Numbers of the dead letters to send again; left out: all");

pub(crate) const REPLAYED: Field<Shape> =
    Field::new("replayed", Shape(count), "Number of dead letters that are sent again")
        .example_of(|| 1.into());

/// Most dead letters that a request names.
pub(crate) const REPLAYED_MAX: usize = 1000;

fn query() -> Value {
    json!({"type": "string", "maxLength": 1024})
}

/// A number of an event, as large as every JSON library tells it from its neighbours.
const NUMBER: Integer = Integer { min: 1, max: (1 << 53) - 1 };

/// Numbers of events.
#[derive(Clone, Copy)]
pub(crate) struct Numbers;

impl Form for Numbers {
    fn schema(self, _: Direction) -> Value {
        json!({
            "type": "array", "minItems": 1, "maxItems": REPLAYED_MAX,
            "items": NUMBER.schema(Direction::Request),
        })
    }
}

impl Readable for Numbers {
    type Value = Vec<u64>;

    fn read(self, json: Json) -> Result<Vec<u64>, String> {
        let bad = || format!("must be a list of 1 to {REPLAYED_MAX} numbers of events");
        let Json::List(items) = json else { return Err(bad()) };
        if !(1..=REPLAYED_MAX).contains(&items.len()) {
            return Err(bad());
        }
        let number = |item: Json| NUMBER.read(item).map_err(|_| bad());
        items.into_iter().map(number).collect()
    }
}

/// The callback's URL; which addresses are allowed is checked by the client that sends to it.
#[derive(Clone, Copy)]
pub(crate) struct CallbackForm;

impl Form for CallbackForm {
    fn schema(self, _: Direction) -> Value {
        json!({"type": "string", "format": "uri", "minLength": 1, "maxLength": CALLBACK_CHARS_MAX})
    }
}

impl Readable for CallbackForm {
    type Value = String;

    fn read(self, json: Json) -> Result<String, String> {
        let text = crate::reader::text(json)?;
        match text.chars().count() {
            1..=CALLBACK_CHARS_MAX => Ok(text),
            n => Err(format!("must have 1 to {CALLBACK_CHARS_MAX} characters, not {n}")),
        }
    }
}

/// A state that a subscriber may set.
#[derive(Clone, Copy)]
pub(crate) struct StateForm;

const SETTABLE: [HubState; 2] = [HubState::Active, HubState::Paused];

impl Form for StateForm {
    fn schema(self, _: Direction) -> Value {
        json!({"type": "string", "enum": SETTABLE.map(HubState::as_str)})
    }
}

impl Readable for StateForm {
    type Value = HubState;

    fn read(self, json: Json) -> Result<HubState, String> {
        let word = crate::reader::text(json)?;
        let known = SETTABLE.into_iter().find(|it| it.as_str() == word);
        known.ok_or_else(|| format!("must be `ACTIVE` or `PAUSED`, not `{}`", shortened(&word)))
    }
}

/// A hub, as the audit and its own last event have it.
pub(crate) fn hub_body(hub: &Hub) -> Body {
    Body::default()
        .put(ID, hub.id.to_string())
        .put(CALLBACK, hub.callback.as_str())
        .put(QUERY, hub.query.to_string())
        .put(STATE, hub.state.as_str())
        .put(CREATED_AT, hub.created_at.to_string())
        .put_some(FORMER_SECRET_UNTIL, hub.former_secret_until.map(|it| it.to_string()))
}

/// A hub in responses, with its secret if it has just been made.
pub(crate) fn stored_body(stored: &StoredHub, secret: Option<&str>, now: Timestamp) -> Body {
    let mut hub = stored.hub.clone();
    hub.former_secret_until = hub.former_secret_until.filter(|until| *until > now);
    let next = stored.blocked_until.filter(|until| *until > now);
    hub_body(&hub)
        .put_some(SECRET, secret)
        .put(POSITION, stored.position)
        .put(BEHIND, stored.n_behind)
        .put(WAITING, stored.n_waiting)
        .put(DEAD_LETTERS, stored.n_dead)
        .put(MISSED, stored.n_missed)
        .put_some(FAILING_SINCE, stored.failing_since.map(|it| it.to_string()))
        .put_some(NEXT_ATTEMPT, next.map(|it| it.to_string()))
}

pub(crate) fn message_body(message: &SentMessage) -> Body {
    Body::default()
        .put(SENT_AT, message.at.to_string())
        .put(EVENT_NUMBER, message.first)
        .put(EVENTS, message.n_events)
        .put_some(STATUS, message.status)
        .put(DURATION, message.milliseconds)
        .put_some(ERROR, message.why.as_deref())
}

pub(crate) fn dead_letter_body(event: &UndeliveredEvent) -> Body {
    Body::default()
        .put(EVENT_NUMBER, event.number)
        .put(ATTEMPTS, event.n_attempts)
        .put(SINCE, event.since.to_string())
        .put(ERROR, event.why.as_str())
}

/// The body of a POST.
pub(crate) fn new_hub() -> Object {
    Object::creation("NewHub", "A new hub", [must(CALLBACK), may(QUERY).in_example()])
}

/// The body of a PATCH.
pub(crate) fn hub_update() -> Object {
    let members = [may(STATE).in_example(), may(ROTATE_SECRET)];
    Object::request("HubUpdate", "A change of a hub: at least one of these", members)
        .keyword("minProperties", 1)
}

/// The body of a replay.
pub(crate) fn replay() -> Object {
    Object::request("Replay", "Which dead letters to send again", [may(EVENT_NUMBERS)])
}

fn shown(name: &'static str, description: &'static str) -> Object {
    Object::response(
        name,
        description,
        [
            must(ID),
            must(CALLBACK),
            must(QUERY),
            must(STATE),
            must(CREATED_AT),
            may(FORMER_SECRET_UNTIL),
            must(POSITION),
            must(BEHIND),
            must(WAITING),
            must(DEAD_LETTERS),
            must(MISSED),
            may(FAILING_SINCE),
            may(NEXT_ATTEMPT),
        ],
    )
}

fn list_schema(name: &'static str, of: &str, description: &str) -> Schema {
    Schema::new(name, json!({"type": "array", "items": reference(of), "description": description}))
}

/// A hub in responses.
pub(crate) fn shown_hub() -> Object {
    shown("Hub", "A hub, without its secret")
}

/// A message in responses.
pub(crate) fn shown_message() -> Object {
    Object::response(
        "HubDelivery",
        "A message that was sent to a subscriber",
        [
            must(SENT_AT),
            must(EVENT_NUMBER),
            must(EVENTS),
            may(STATUS).in_example(),
            must(DURATION),
            may(ERROR),
        ],
    )
}

/// A dead letter in responses.
pub(crate) fn shown_dead_letter() -> Object {
    Object::response(
        "DeadLetter",
        "An event that is not tried any more",
        [
            must(EVENT_NUMBER),
            must(ATTEMPTS),
            must(SINCE),
            must(ERROR.example("the connection was refused")),
        ],
    )
}

/// The schemas of hubs.
pub(crate) fn schemas() -> Vec<Schema> {
    vec![
        new_hub().into(),
        hub_update().into(),
        replay().into(),
        shown_hub().into(),
        list_schema("Hubs", "Hub", "The tenant's hubs"),
        list_schema("HubDeliveries", "HubDelivery", "The latest messages of a hub"),
        list_schema("DeadLetters", "DeadLetter", "Dead letters of a hub"),
        shown("IssuedHub", "A hub with its new secret").and([must(SECRET)]).into(),
        shown("UpdatedHub", "A changed hub, with its secret if that is new")
            .and([may(SECRET)])
            .into(),
        shown_message().into(),
        shown_dead_letter().into(),
        Object::response("Replayed", "What is sent again", [must(REPLAYED)]).into(),
    ]
}
