//! The fields of what the server shows of itself: its state, its keys, its document and its pages.

use serde_json::json;

use super::shape::{constant, described, one_of, some_of, text};
use super::{Body, Object, Schema, must};
use crate::reader::{Field, Shape};

pub(crate) const STATUS: Field<Shape> =
    Field::new("status", Shape(|| one_of(&["live", "ready"])), "How the server is").example("live");

const KEYS: Field<Shape> = Field::new(
    "keys",
    Shape(|| some_of("Key")),
    "The keys that tokens of the built-in issuer are signed with",
)
.example_of(|| json!([key().example()]));

/// The state of the server: `live` or `ready`.
pub(crate) fn state_body(status: &str) -> Body {
    Body::default().put(STATUS, status)
}

/// A public key, by the names of RFC 8037. The vault writes it.
fn key() -> Object {
    Object::answer(
        "Key",
        "A public key (RFC 8037)",
        [
            must(Field::new("kty", Shape(|| constant("OKP")), "").example("OKP")),
            must(Field::new("crv", Shape(|| constant("Ed25519")), "").example("Ed25519")),
            must(Field::new("use", Shape(|| constant("sig")), "").example("sig")),
            must(Field::new("alg", Shape(|| constant("EdDSA")), "").example("EdDSA")),
            must(
                Field::new("kid", Shape(text), "The name that tokens call it by")
                    .example("hQ1nL3Tz0kE"),
            ),
            must(
                Field::new("x", Shape(text), "The public key, in base64url")
                    .example("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"),
            ),
        ],
    )
}

/// An OpenAPI document, by the names of its standard.
fn document() -> Object {
    let any = Shape(|| json!({"type": "object"}));
    let openapi = Field::new("openapi", Shape(text), "The version of OpenAPI that it speaks");
    let info = Field::new("info", any, "What it is about");
    let paths = Field::new("paths", any, "Every path and what can be done there");
    Object::answer(
        "Document",
        "An OpenAPI document",
        [
            must(openapi.example("3.1.0")),
            must(info.example_of(|| json!({"title": "gatehouse", "version": "0.1.0"}))),
            must(paths.example_of(|| json!({}))),
        ],
    )
    .open()
}

/// The schemas of the server itself.
pub(crate) fn schemas() -> Vec<Schema> {
    let metrics =
        "# TYPE gatehouse_http_requests_in_flight gauge\ngatehouse_http_requests_in_flight 1\n";
    vec![
        document().into(),
        Schema::new("Page", described(text(), "A page for a browser")).example("<!DOCTYPE html>"),
        Schema::new("Text", described(text(), "A text for a program")).example(metrics),
        Object::answer("KeySet", "A JSON Web Key Set (RFC 7517)", [must(KEYS)]).into(),
        key().into(),
        Object::answer("State", "How the server is", [must(STATUS)]).into(),
    ]
}
