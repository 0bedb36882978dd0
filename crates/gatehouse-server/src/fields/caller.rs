//! The fields of a caller: the claims of its token.

use gatehouse_core::rights::scopes_to_words;
use serde_json::json;

use super::shape::{text, texts};
use super::{Body, Object, Schema, client, may, must};
use crate::auth::Caller;
use crate::reader::{Field, Instant, Shape};

const SUBJECT: Field<Shape> =
    Field::new("subject", Shape(text), "The token's subject; left out if the token has none")
        .example("ann");

const TENANTS: Field<Shape> = Field::new(
    "tenants",
    Shape(texts),
    "The tenants that the token names, whether or not they exist; `*` alone means all",
)
.example_of(|| json!(["demo"]));

const SCOPE: Field<Shape> = Field::new(
    client::SCOPE.name,
    Shape(text),
    "The token's scopes, separated by spaces; scopes that gatehouse doesn't know are left out",
)
.example("access:read access:write");

const EXPIRES_AT: Field<Instant> =
    Field::new("expiresAt", Instant, "When the token expires").example("2026-11-16T03:43:54.000Z");

/// A caller's token.
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
    vec![Object::response("Caller", "The caller, as its token describes it", members).into()]
}
