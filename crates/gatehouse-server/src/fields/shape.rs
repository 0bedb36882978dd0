//! Schemas that several resources share.

use gatehouse_core::ids::NAME_CHARS_MAX;
use serde_json::{Value, json};

/// Pattern of a UUID in an identifier.
const UUID: &str = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

/// A reference to a named schema.
pub(crate) fn reference(schema: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}

/// The name of a contract, an account or an access: no control characters of ASCII or Latin-1.
pub(crate) fn name() -> Value {
    named_by(r"^[^\u0000-\u001f\u007f-\u009f]+$")
}

/// The name of a device: any characters except NUL, which PostgreSQL doesn't store.
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

/// A count.
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
pub(crate) fn constant(value: &str) -> Value {
    json!({"type": "string", "const": value})
}

/// One of a fixed set of strings.
pub(crate) fn one_of(values: &[&str]) -> Value {
    json!({"type": "string", "enum": values})
}

/// A schema with a description.
pub(crate) fn described(schema: Value, description: &str) -> Value {
    with(schema, "description", description)
}

/// A schema with one more keyword.
pub(crate) fn with(mut schema: Value, keyword: &str, value: impl Into<Value>) -> Value {
    schema[keyword] = value.into();
    schema
}
