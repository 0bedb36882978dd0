//! A field of a JSON body: its name, form, description and example, defined once for every use.

use serde_json::Value;

use super::form::{Direction, Form};

/// A field of a body. Readers read it, writers write it, and the OpenAPI document describes it.
#[derive(Clone, Copy)]
pub(crate) struct Field<F> {
    /// The name in JSON.
    pub(crate) name: &'static str,
    member: Member,
    /// The accepted values.
    pub(crate) form: F,
    /// The description in the document; empty if the schema is a reference or needs none.
    description: &'static str,
    example: Option<Example>,
}

/// A name as it precedes its value in JSON: `,"username":`.
///
/// Fields are constants, so the compiler makes these bytes, and a writer appends them in one copy.
#[derive(Clone, Copy)]
struct Member {
    bytes: [u8; Self::BYTES_MAX],
    n_bytes: usize,
}

impl Member {
    /// Room for the longest name. A constant field with a longer one doesn't compile.
    const BYTES_MAX: usize = 32;

    const fn new(name: &str) -> Self {
        let empty = Self { bytes: [0; Self::BYTES_MAX], n_bytes: 0 };
        empty.and(b",\"").and(name.as_bytes()).and(b"\":")
    }

    const fn and(mut self, more: &[u8]) -> Self {
        let (_, rest) = self.bytes.split_at_mut(self.n_bytes);
        rest.split_at_mut(more.len()).0.copy_from_slice(more);
        self.n_bytes += more.len();
        self
    }
}

/// An example value, as a constant.
#[derive(Clone, Copy)]
enum Example {
    Text(&'static str),
    Value(fn() -> Value),
}

impl<F: Copy> Field<F> {
    /// Describes a field.
    pub(crate) const fn new(name: &'static str, form: F, description: &'static str) -> Self {
        let member = Member::new(name);
        Self { name, member, form, description, example: None }
    }

    /// The field with a string as its example.
    pub(crate) const fn example(mut self, text: &'static str) -> Self {
        self.example = Some(Example::Text(text));
        self
    }

    /// The field with an example of any type.
    pub(crate) const fn example_of(mut self, make: fn() -> Value) -> Self {
        self.example = Some(Example::Value(make));
        self
    }

    /// The field with another description, for a body in which its meaning differs.
    pub(crate) const fn described(mut self, description: &'static str) -> Self {
        self.description = description;
        self
    }
}

impl<F> Field<F> {
    /// The name in JSON, between a comma and a colon.
    pub(crate) fn member(&self) -> &[u8] {
        &self.member.bytes[..self.member.n_bytes]
    }
}

/// A field of any form, as the document describes it.
pub(crate) trait Describe {
    /// The name in JSON.
    fn name(&self) -> &'static str;
    /// The JSON Schema with its description.
    fn schema(&self, direction: Direction) -> Value;
    /// The example, if the field has one.
    fn example(&self) -> Option<Value>;
}

impl<F: Form> Describe for Field<F> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn schema(&self, direction: Direction) -> Value {
        let mut schema = self.form.schema(direction);
        let description = self.form.describe(self.description);
        if !description.is_empty() {
            schema["description"] = description.into();
        }
        schema
    }

    fn example(&self) -> Option<Value> {
        self.example.map(|example| match example {
            Example::Text(text) => text.into(),
            Example::Value(make) => make(),
        })
    }
}
