//! Plain values of a body, and the part of a value that an error may repeat.

use super::json::Json;

/// Characters of a name or a value that an error repeats.
const VALUE_CHARS_MAX: usize = 64;

/// Reads any string.
pub(crate) fn text(json: Json) -> Result<String, String> {
    match json {
        Json::Text(text) => Ok(text),
        other => Err(format!("must be a string, not {}", other.kind())),
    }
}

/// Reads any object.
pub(crate) fn object(json: Json) -> Result<Json, String> {
    match json {
        Json::Object(_) => Ok(json),
        other => Err(format!("must be an object, not {}", other.kind())),
    }
}

/// Reads a list of any values.
pub(crate) fn list(json: Json) -> Result<Vec<Json>, String> {
    match json {
        Json::List(items) => Ok(items),
        other => Err(format!("must be a list, not {}", other.kind())),
    }
}

/// Truncates a value for an error.
pub(crate) fn shortened(value: &str) -> String {
    value.chars().take(VALUE_CHARS_MAX).collect()
}

/// Truncates a value for the store, and replaces control characters: not every store accepts them.
pub(crate) fn printable(value: &str) -> String {
    let shown = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    value.chars().take(VALUE_CHARS_MAX).map(shown).collect()
}
