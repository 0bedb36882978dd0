//! Objects as the OpenAPI document describes them: lists of fields, with a schema and an example.

use serde_json::{Map, Value, json};

use crate::reader::{Describe, Direction, Field, Form, TYPE_NAMES};

/// A named schema of the document.
pub(crate) struct Schema {
    pub(crate) name: &'static str,
    pub(crate) schema: Value,
    /// An example of an answer, where answers use the schema.
    pub(crate) example: Option<Value>,
}

impl Schema {
    /// A schema that is no object of described fields.
    pub(crate) fn new(name: &'static str, schema: Value) -> Self {
        Self { name, schema, example: None }
    }

    /// The schema with an example.
    pub(crate) fn example(self, example: impl Into<Value>) -> Self {
        Self { example: Some(example.into()), ..self }
    }
}

/// A field of an object.
pub(crate) struct Member {
    field: Box<dyn Describe>,
    is_required: bool,
    is_in_example: bool,
}

/// A required field.
pub(crate) fn must<F: Form>(field: Field<F>) -> Member {
    Member { field: Box::new(field), is_required: true, is_in_example: true }
}

/// An optional field. Examples of requests leave it out.
pub(crate) fn may<F: Form>(field: Field<F>) -> Member {
    Member { field: Box::new(field), is_required: false, is_in_example: false }
}

impl Member {
    /// The member, also in the example of a request.
    pub(crate) fn in_example(self) -> Self {
        Self { is_in_example: true, ..self }
    }
}

/// An object of described fields.
pub(crate) struct Object {
    name: &'static str,
    what: &'static str,
    direction: Direction,
    members: Vec<Member>,
    /// Whether `null` means that an optional field is absent.
    is_null_absent: bool,
    /// Whether the names of a TMF type may stand beside the fields, and are ignored.
    ignores_type_names: bool,
    /// Whether fields that are not described may stand beside the others.
    is_open: bool,
    keywords: Vec<(&'static str, Value)>,
}

impl Object {
    fn new<const N: usize>(
        (name, what): (&'static str, &'static str),
        direction: Direction,
        members: [Member; N],
    ) -> Self {
        Self {
            name,
            what,
            direction,
            members: members.into(),
            is_null_absent: false,
            ignores_type_names: false,
            is_open: false,
            keywords: Vec::new(),
        }
    }

    /// The body of an answer.
    pub(crate) fn answer<const N: usize>(
        name: &'static str,
        what: &'static str,
        members: [Member; N],
    ) -> Self {
        Self::new((name, what), Direction::Response, members)
    }

    /// The body of a PUT or a PATCH, in which `null` is a fault.
    pub(crate) fn request<const N: usize>(
        name: &'static str,
        what: &'static str,
        members: [Member; N],
    ) -> Self {
        Self::new((name, what), Direction::Request, members)
    }

    /// The body of a POST, in which an optional field that is `null` is absent.
    pub(crate) fn post<const N: usize>(
        name: &'static str,
        what: &'static str,
        members: [Member; N],
    ) -> Self {
        Self { is_null_absent: true, ..Self::request(name, what, members) }
    }

    /// The body of a POST that creates a resource, in which the names of its TMF type are ignored.
    pub(crate) fn creation<const N: usize>(
        name: &'static str,
        what: &'static str,
        members: [Member; N],
    ) -> Self {
        Self { ignores_type_names: true, ..Self::post(name, what, members) }
    }

    /// The object with more fields.
    pub(crate) fn and<const N: usize>(mut self, members: [Member; N]) -> Self {
        self.members.extend(members);
        self
    }

    /// The object, open to fields that are not described.
    pub(crate) fn open(self) -> Self {
        Self { is_open: true, ..self }
    }

    /// The object with one more keyword of JSON Schema.
    pub(crate) fn keyword(mut self, keyword: &'static str, value: impl Into<Value>) -> Self {
        self.keywords.push((keyword, value.into()));
        self
    }

    /// An example with the fields that have one.
    pub(crate) fn example(&self) -> Value {
        let is_answer = self.direction == Direction::Response;
        let shown = self.members.iter().filter(|it| is_answer || it.is_in_example);
        let example = |it: &Member| Some((it.field.name().to_owned(), it.field.example()?));
        Value::Object(shown.filter_map(example).collect())
    }

    fn schema(&self) -> Value {
        let mut properties = Map::new();
        for Member { field, is_required, .. } in &self.members {
            let mut schema = field.schema(self.direction);
            if self.is_null_absent && !is_required && schema["type"] != "null" {
                schema["type"] = json!([schema["type"], "null"]);
            }
            properties.insert(field.name().to_owned(), schema);
        }
        if self.ignores_type_names {
            properties.extend(TYPE_NAMES.map(|it| (it.into(), json!({"description": "Ignored"}))));
        }
        let mut schema =
            json!({"type": "object", "properties": properties, "description": self.what});
        if !self.is_open {
            schema["additionalProperties"] = false.into();
        }
        let required = self.members.iter().filter(|it| it.is_required);
        let required: Vec<&str> = required.map(|it| it.field.name()).collect();
        if !required.is_empty() {
            schema["required"] = required.into();
        }
        for (keyword, value) in &self.keywords {
            schema[*keyword] = value.clone();
        }
        schema
    }
}

impl From<Object> for Schema {
    /// Answers have examples by the schema's name; a request's stands with its operation.
    fn from(object: Object) -> Self {
        let schema = Self::new(object.name, object.schema());
        match object.direction {
            Direction::Request => schema,
            Direction::Response => schema.example(object.example()),
        }
    }
}
