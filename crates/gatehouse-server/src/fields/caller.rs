//! The fields of a caller: what its token says.

use gatehouse_core::rights::scopes_to_words;
use serde_json::json;

use super::shape::{text, texts};
use super::{Body, Object, Schema, client, may, must};
use crate::auth::Caller;
use crate::reader::{Field, Instant, Shape};

const SUBJECT: Field<Shape> =
    Field::new("subject", Shape(text), "Whose token it is; left out where it doesn't say")
        .example("ann");

const TENANTS: Field<Shape> = Field::new(
    "tenants",
    Shape(texts),
    "The tenants that the token names, whether they exist or not; `*` alone for all",
)
.example_of(|| json!(["demo"]));

const SCOPE: Field<Shape> = Field::new(
    client::SCOPE.name,
    Shape(text),
    "What the token allows, with spaces between; what is no scope of gatehouse's is left out",
)
.example("access:read access:write");

const EXPIRES_AT: Field<Instant> =
    Field::new("expiresAt", Instant, "When the token ends").example("2026-11-16T03:43:54.000Z");

/// What a caller's token says.
pub(crate) fn caller_body(caller: &Caller) -> Body {
    let Caller { subject, rights, expires } = caller;
    Body::default()
        .put_some(SUBJECT, (!subject.is_empty()).then_some(subject))
        .put(TENANTS, rights.tenants.words().collect::<Vec<_>>())
        .put(SCOPE, scopes_to_words(&rights.scopes))
        .put(EXPIRES_AT, expires.to_string())
}

/// The schema of a caller.
pub(crate) fn schemas() -> Vec<Schema> {
    let members = [may(SUBJECT), must(TENANTS), must(SCOPE), must(EXPIRES_AT)];
    vec![Object::answer("Caller", "Whoever holds a token", members).into()]
}
