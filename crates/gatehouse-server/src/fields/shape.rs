//! Schemas that several resources share.

use gatehouse_core::ids::NAME_CHARS_MAX;
use serde_json::{Value, json};

/// The UUID in an identifier.
const UUID: &str = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

/// A reference to a named schema.
pub(crate) fn reference(schema: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}

/// The name of a contract, an account, an access: no control characters, those beyond ASCII among them.
pub(crate) fn name() -> Value {
    named_by(r"^[^\u0000-\u001f\u007f-\u009f]+$")
}

/// The name of a device: any character that a database can hold.
pub(crate) fn device_name() -> Value {
    named_by(r"^[^\u0000]+$")
}

fn named_by(pattern: &str) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": NAME_CHARS_MAX, "pattern": pattern})
}

/// A Task's identifier.
pub(crate) fn job() -> Value {
    json!({"type": "string", "pattern": format!("^job-{UUID}$")})
}

/// An access's identifier.
pub(crate) fn uuid() -> Value {
    json!({"type": "string", "format": "uuid"})
}

/// A URL.
pub(crate) fn address() -> Value {
    json!({"type": "string", "format": "uri"})
}

/// Any string.
pub(crate) fn text() -> Value {
    json!({"type": "string"})
}

/// A number of things.
pub(crate) fn count() -> Value {
    json!({"type": "integer", "minimum": 0})
}

/// A list of objects with a named schema.
pub(crate) fn list_of(schema: &str) -> Value {
    json!({"type": "array", "items": reference(schema)})
}

/// A list of at least one object with a named schema.
pub(crate) fn some_of(schema: &str) -> Value {
    json!({"type": "array", "minItems": 1, "items": reference(schema)})
}

/// A list of strings.
pub(crate) fn texts() -> Value {
    json!({"type": "array", "items": {"type": "string"}})
}

/// One fixed string.
pub(crate) fn constant(word: &str) -> Value {
    json!({"type": "string", "const": word})
}

/// One of a few strings.
pub(crate) fn one_of(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

/// A schema with a description.
pub(crate) fn described(schema: Value, what: &str) -> Value {
    with(schema, "description", what)
}

/// A schema with one more keyword.
pub(crate) fn with(mut schema: Value, keyword: &str, value: impl Into<Value>) -> Value {
    schema[keyword] = value.into();
    schema
}
