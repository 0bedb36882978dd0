//! Forms of fields: the accepted values, their parsers, and their JSON Schema.
//!
//! As JSON Schema requires, patterns are ECMAScript's and lengths are characters. The description names limits that a
//! schema can't express, such as bytes of UTF-8.

use std::fmt::Display;
use std::marker::PhantomData;
use std::str::FromStr;

use gatehouse_core::Timestamp;
use gatehouse_core::credential::{PASSWORD_BYTES_MAX, Password};
use serde_json::{Value, json};

use super::json::Json;
use super::value::{list, shortened, text};

/// An instant in responses.
const TIME_PATTERN: &str = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$";

/// Whether a body is a request's or a response's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Request,
    Response,
}

/// The accepted values of a field.
pub(crate) trait Form: Copy + 'static {
    /// The JSON Schema, without a description.
    fn schema(self, direction: Direction) -> Value;

    /// Completes the field's description with limits that the schema can't express.
    fn describe(self, description: &str) -> String {
        description.to_owned()
    }
}

/// A form that the server reads from requests.
pub(crate) trait Readable: Form {
    type Value;

    /// Reads a value. The reason is a phrase that follows the field's name.
    fn read(self, json: Json) -> Result<Self::Value, String>;
}

/// Any value of a response, described by a schema.
#[derive(Clone, Copy)]
pub(crate) struct Shape(pub(crate) fn() -> Value);

impl Form for Shape {
    fn schema(self, _: Direction) -> Value {
        (self.0)()
    }
}

/// A list, described by a schema. The caller reads its elements.
#[derive(Clone, Copy)]
pub(crate) struct Array(pub(crate) fn() -> Value);

impl Form for Array {
    fn schema(self, _: Direction) -> Value {
        (self.0)()
    }
}

impl Readable for Array {
    type Value = Vec<Json>;

    fn read(self, json: Json) -> Result<Vec<Json>, String> {
        list(json)
    }
}

/// A string that `T` parses, described by a schema.
pub(crate) struct Text<T> {
    schema: fn() -> Value,
    parsed: PhantomData<fn() -> T>,
}

impl<T> Clone for Text<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Text<T> {}

impl<T> Text<T> {
    pub(crate) const fn new(schema: fn() -> Value) -> Self {
        Self { schema, parsed: PhantomData }
    }
}

impl<T: 'static> Form for Text<T> {
    fn schema(self, _: Direction) -> Value {
        (self.schema)()
    }
}

impl<T: FromStr<Err: Display> + 'static> Readable for Text<T> {
    type Value = T;

    fn read(self, json: Json) -> Result<T, String> {
        text(json)?.parse().map_err(|bad: T::Err| bad.to_string())
    }
}

/// A whole number within bounds.
#[derive(Clone, Copy)]
pub(crate) struct Integer {
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl Form for Integer {
    fn schema(self, _: Direction) -> Value {
        json!({"type": "integer", "minimum": self.min, "maximum": self.max})
    }
}

impl Readable for Integer {
    type Value = u64;

    fn read(self, json: Json) -> Result<u64, String> {
        let Self { min, max } = self;
        let given = match &json {
            Json::Number(number) => number,
            other => return Err(format!("must be a whole number, not {}", other.kind())),
        };
        given
            .as_u64()
            .or_else(|| whole(given.as_f64()?))
            .filter(|number| (min..=max).contains(number))
            .ok_or_else(|| format!("must be a whole number from {min} to {max}, not {given}"))
    }
}

/// Reads a whole number with a decimal point or an exponent: in JSON Schema, `5.0` is an integer like `5`.
fn whole(number: f64) -> Option<u64> {
    // Beyond this, a float can't tell adjacent integers apart.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    let is_whole = number.fract() == 0.0 && (0.0..=EXACT_MAX).contains(&number);
    is_whole.then_some(number as u64)
}

/// One of a fixed set of strings.
pub(crate) struct OneOf<T: 'static> {
    pub(crate) all: &'static [T],
    pub(crate) as_str: fn(T) -> &'static str,
}

impl<T> Clone for OneOf<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for OneOf<T> {}

impl<T: Copy> OneOf<T> {
    fn names(self) -> Vec<&'static str> {
        self.all.iter().map(|it| (self.as_str)(*it)).collect()
    }
}

impl<T: Copy> Form for OneOf<T> {
    fn schema(self, _: Direction) -> Value {
        json!({"type": "string", "enum": self.names()})
    }
}

impl<T: Copy> Readable for OneOf<T> {
    type Value = T;

    fn read(self, json: Json) -> Result<T, String> {
        let given = text(json)?;
        self.all.iter().copied().find(|it| (self.as_str)(*it) == given).ok_or_else(|| {
            let names = self.names().join(", ");
            format!("must be one of {names}, not `{}`", shortened(&given))
        })
    }
}

/// A form whose schema has a name in the document.
#[derive(Clone, Copy)]
pub(crate) struct Named<F>(pub(crate) &'static str, pub(crate) F);

impl<F: Form> Form for Named<F> {
    fn schema(self, _: Direction) -> Value {
        json!({"$ref": format!("#/components/schemas/{}", self.0)})
    }
}

impl<F: Readable> Readable for Named<F> {
    type Value = F::Value;

    fn read(self, json: Json) -> Result<F::Value, String> {
        self.1.read(json)
    }
}

/// An instant; requests may use any offset, or a plain date.
#[derive(Clone, Copy)]
pub(crate) struct Instant;

impl Form for Instant {
    fn schema(self, direction: Direction) -> Value {
        match direction {
            Direction::Request => json!({"anyOf": [
                {"type": "string", "format": "date-time"}, {"type": "string", "format": "date"},
            ]}),
            Direction::Response => {
                json!({"type": "string", "format": "date-time", "pattern": TIME_PATTERN})
            }
        }
    }
}

impl Readable for Instant {
    type Value = Timestamp;

    fn read(self, json: Json) -> Result<Timestamp, String> {
        Text::new(|| Value::Null).read(json)
    }
}

/// A device's password. Errors never repeat it.
#[derive(Clone, Copy)]
pub(crate) struct Secret;

impl Form for Secret {
    fn schema(self, _: Direction) -> Value {
        json!({
            "type": "string", "format": "password", "minLength": 1, "maxLength": PASSWORD_BYTES_MAX,
        })
    }

    fn describe(self, description: &str) -> String {
        format!("{description} 1 to {PASSWORD_BYTES_MAX} bytes of UTF-8, any characters.")
    }
}

impl Readable for Secret {
    type Value = Password;

    fn read(self, json: Json) -> Result<Password, String> {
        Password::new(text(json)?).map_err(|bad| bad.to_string())
    }
}

/// A flag that is either `true` or left out.
#[derive(Clone, Copy)]
pub(crate) struct True;

impl Form for True {
    fn schema(self, _: Direction) -> Value {
        json!({"type": "boolean", "const": true})
    }
}

impl Readable for True {
    type Value = ();

    fn read(self, json: Json) -> Result<(), String> {
        let is_true = Flag.read(json).is_ok_and(|given| given);
        is_true.then_some(()).ok_or_else(|| "must be true, or left out".into())
    }
}

/// True or false.
#[derive(Clone, Copy)]
pub(crate) struct Flag;

impl Form for Flag {
    fn schema(self, _: Direction) -> Value {
        json!({"type": "boolean"})
    }
}

impl Readable for Flag {
    type Value = bool;

    fn read(self, json: Json) -> Result<bool, String> {
        match json {
            Json::Bool(value) => Ok(value),
            other => Err(format!("must be a boolean, not {}", other.kind())),
        }
    }
}
