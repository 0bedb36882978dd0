//! The fields of the server's public resources: its state, its keys, its document and its pages.

use serde_json::json;

use super::shape::{constant, described, one_of, some_of, text};
use super::{Body, Object, Schema, must};
use crate::reader::{Field, Shape};

pub(crate) const STATUS: Field<Shape> =
    Field::new("status", Shape(|| one_of(&["live", "ready"])), "The server's state")
        .example("live");

const KEYS: Field<Shape> = Field::new(
    "keys",
    Shape(|| some_of("Key")),
    "The keys that verify tokens of the built-in issuer",
)
.example_of(|| json!([key().example()]));

/// The state of the server: `live` or `ready`.
pub(crate) fn state_body(status: &str) -> Body {
    Body::default().put(STATUS, status)
}

/// A public key, with the names of RFC 8037. The vault writes it.
fn key() -> Object {
    Object::response(
        "Key",
        "A public key (RFC 8037)",
        [
            must(Field::new("kty", Shape(|| constant("OKP")), "").example("OKP")),
            must(Field::new("crv", Shape(|| constant("Ed25519")), "").example("Ed25519")),
            must(Field::new("use", Shape(|| constant("sig")), "").example("sig")),
            must(Field::new("alg", Shape(|| constant("EdDSA")), "").example("EdDSA")),
            must(Field::new("kid", Shape(text), "The key's ID in tokens").example("hQ1nL3Tz0kE")),
            must(
                Field::new("x", Shape(text), "The public key, in base64url")
                    .example("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"),
            ),
        ],
    )
}

/// An OpenAPI document, with the names of its standard.
fn document() -> Object {
    let any = Shape(|| json!({"type": "object"}));
    let openapi = Field::new("openapi", Shape(text), "The OpenAPI version of the document");
    let info = Field::new("info", any, "Title and version of the API");
    let paths = Field::new("paths", any, "Every path and its operations");
    Object::response(
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
        Object::response("KeySet", "A JSON Web Key Set (RFC 7517)", [must(KEYS)]).into(),
        key().into(),
        Object::response("State", "The server's state", [must(STATUS)]).into(),
    ]
}
