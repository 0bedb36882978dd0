//! The fields of a client: a program of a tenant that gets its tokens from gatehouse.

use std::collections::BTreeSet;

use gatehouse_core::rights::{Scope, parse_scopes, scopes_to_words};
use gatehouse_core::{Client, ClientName};
use serde_json::{Value, json};

use super::shape::name;
use super::{Body, Object, Schema, may, must};
use crate::reader::{Direction, Field, Form, Instant, Json, Readable, Shape, Text, text};

pub(crate) const ID: Field<Shape> =
    Field::new("clientId", Shape(client_id), "The client's identifier; contains the tenant's name")
        .example("demo~ghbartdqeohaehjz");

pub(crate) const SECRET: Field<Shape> = Field::new(
    "clientSecret",
    Shape(|| json!({"type": "string", "format": "password"})),
    "The client's secret. Shown only here: the server stores a hash.",
)
.example("9DSYd6m4H3HmyNo55iAFm927");

pub(crate) const NAME: Field<Text<ClientName>> =
    Field::new("name", Text::new(name), "The client's display name, if it has one")
        .example("the broker in Hamburg");

pub(crate) const SCOPE: Field<Scopes> =
    Field::new("scope", Scopes, "The scopes that its tokens may have").example("access:verify");

pub(crate) const CREATED_AT: Field<Instant> =
    Field::new("createdAt", Instant, "When the client was created")
        .example("2026-11-15T09:59:12.335Z");

fn client_id() -> Value {
    json!({"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,62}~[a-z0-9]{1,64}$"})
}

/// Scopes, separated by spaces.
#[derive(Clone, Copy)]
pub(crate) struct Scopes;

impl Scopes {
    /// One scope or several, as a regular expression without anchors.
    pub(crate) fn pattern() -> String {
        let words: Vec<&str> = Scope::ALL.into_iter().map(Scope::as_str).collect();
        let word = format!("({})", words.join("|"));
        format!("{word}( {word})*")
    }
}

impl Form for Scopes {
    fn schema(self, _: Direction) -> Value {
        json!({
            "type": "string", "minLength": 1, "pattern": format!("^{}$", Self::pattern()),
            "examples": ["access:read access:write"],
        })
    }

    fn describe(self, description: &str) -> String {
        format!("{description}; separated by spaces")
    }
}

impl Readable for Scopes {
    type Value = BTreeSet<Scope>;

    fn read(self, json: Json) -> Result<BTreeSet<Scope>, String> {
        parse_scopes(&text(json)?).map_err(|bad| bad.to_string())
    }
}

/// A client, with its secret if it has just been created.
pub fn client_body(client: &Client, secret: Option<&str>) -> Body {
    Body::default()
        .put(ID, client.id.to_string())
        .put_some(SECRET, secret)
        .put_some(NAME, client.name.as_ref().map(ClientName::as_str))
        .put(SCOPE, scopes_to_words(&client.scopes))
        .put(CREATED_AT, client.created_at.to_string())
}

/// The body of a POST.
pub(crate) fn new_client() -> Object {
    let name = may(NAME.described("A display name")).in_example();
    Object::creation("NewClient", "A new client", [name, must(SCOPE)])
}

fn shown(schema: &'static str, description: &'static str) -> Object {
    Object::response(schema, description, [must(ID), may(NAME), must(SCOPE), must(CREATED_AT)])
}

/// The schemas of clients.
pub(crate) fn schemas() -> Vec<Schema> {
    vec![
        new_client().into(),
        shown("Client", "A client, without its secret").into(),
        shown("IssuedClient", "A new client, with its secret").and([must(SECRET)]).into(),
    ]
}
