//! A field of the wire: its name, form, text and example, written once for every use.

use serde_json::Value;

use super::form::{Direction, Form};

/// A field of a body. Readers take it, writers put it, and the OpenAPI document describes it.
#[derive(Clone, Copy)]
pub(crate) struct Field<F> {
    /// The name in JSON.
    pub(crate) name: &'static str,
    /// The values that it takes.
    pub(crate) form: F,
    /// The description in the document; empty where the schema is a reference or speaks for itself.
    what: &'static str,
    example: Option<Example>,
}

/// An example value, as a constant.
#[derive(Clone, Copy)]
enum Example {
    Text(&'static str),
    Made(fn() -> Value),
}

impl<F: Copy> Field<F> {
    /// Describes a field.
    pub(crate) const fn new(name: &'static str, form: F, what: &'static str) -> Self {
        Self { name, form, what, example: None }
    }

    /// The field with a string as its example.
    pub(crate) const fn example(mut self, text: &'static str) -> Self {
        self.example = Some(Example::Text(text));
        self
    }

    /// The field with an example of any type.
    pub(crate) const fn example_of(mut self, make: fn() -> Value) -> Self {
        self.example = Some(Example::Made(make));
        self
    }

    /// The field with another description, where a body gives it another meaning.
    pub(crate) const fn described(mut self, what: &'static str) -> Self {
        self.what = what;
        self
    }
}

/// A field of any form, as the document describes it.
pub(crate) trait Describe {
    /// The name in JSON.
    fn name(&self) -> &'static str;
    /// The JSON Schema with its description.
    fn schema(&self, direction: Direction) -> Value;
    /// The example, where the field has one.
    fn example(&self) -> Option<Value>;
}

impl<F: Form> Describe for Field<F> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn schema(&self, direction: Direction) -> Value {
        let mut schema = self.form.schema(direction);
        let what = self.form.describe(self.what);
        if !what.is_empty() {
            schema["description"] = what.into();
        }
        schema
    }

    fn example(&self) -> Option<Value> {
        self.example.map(|example| match example {
            Example::Text(text) => text.into(),
            Example::Made(make) => make(),
        })
    }
}
