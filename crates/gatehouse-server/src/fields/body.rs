//! Writer of response bodies.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::reader::Field;

/// A JSON object of described fields, in the order of insertion.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub struct Body(Map<String, Value>);

impl Body {
    /// Adds a field.
    pub(crate) fn put<F>(mut self, field: Field<F>, value: impl Serialize) -> Self {
        let value = serde_json::to_value(value).expect("bodies are plain data");
        self.0.insert(field.name.to_owned(), value);
        self
    }

    /// Adds a field if it has a value.
    pub(crate) fn put_some<F>(self, field: Field<F>, value: Option<impl Serialize>) -> Self {
        match value {
            Some(value) => self.put(field, value),
            None => self,
        }
    }

    /// Adds all fields of another body.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }
}

impl From<Body> for Value {
    fn from(body: Body) -> Self {
        Self::Object(body.0)
    }
}
