//! Objects of the OpenAPI document: lists of fields, with a schema and an example.

use serde_json::{Map, Value, json};

use crate::reader::{Describe, Direction, Field, Form, TYPE_NAMES};

/// A named schema of the document.
pub(crate) struct Schema {
    pub(crate) name: &'static str,
    pub(crate) schema: Value,
    /// An example of a response, if responses use the schema.
    pub(crate) example: Option<Value>,
}

impl Schema {
    /// A schema that isn't an object of described fields.
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

/// An optional field; examples of requests leave it out.
pub(crate) fn may<F: Form>(field: Field<F>) -> Member {
    Member { field: Box::new(field), is_required: false, is_in_example: false }
}

impl Member {
    /// Includes the field in the example of a request.
    pub(crate) fn in_example(self) -> Self {
        Self { is_in_example: true, ..self }
    }
}

/// An object of described fields.
pub(crate) struct Object {
    name: &'static str,
    description: &'static str,
    direction: Direction,
    members: Vec<Member>,
    /// Whether `null` means that an optional field is absent.
    is_null_absent: bool,
    /// Whether TMF type names are accepted and ignored.
    ignores_type_names: bool,
    /// Whether undescribed fields are accepted.
    is_open: bool,
    keywords: Vec<(&'static str, Value)>,
}

impl Object {
    fn new<const N: usize>(
        (name, description): (&'static str, &'static str),
        direction: Direction,
        members: [Member; N],
    ) -> Self {
        Self {
            name,
            description,
            direction,
            members: members.into(),
            is_null_absent: false,
            ignores_type_names: false,
            is_open: false,
            keywords: Vec::new(),
        }
    }

    /// The body of a response.
    pub(crate) fn response<const N: usize>(
        name: &'static str,
        description: &'static str,
        members: [Member; N],
    ) -> Self {
        Self::new((name, description), Direction::Response, members)
    }

    /// The body of a PUT or a PATCH, in which `null` is a fault.
    pub(crate) fn request<const N: usize>(
        name: &'static str,
        description: &'static str,
        members: [Member; N],
    ) -> Self {
        Self::new((name, description), Direction::Request, members)
    }

    /// The body of a POST, in which an optional field that is `null` is absent.
    pub(crate) fn post<const N: usize>(
        name: &'static str,
        description: &'static str,
        members: [Member; N],
    ) -> Self {
        Self { is_null_absent: true, ..Self::request(name, description, members) }
    }

    /// The body of a POST that creates a resource, in which TMF type names are ignored.
    pub(crate) fn creation<const N: usize>(
        name: &'static str,
        description: &'static str,
        members: [Member; N],
    ) -> Self {
        Self { ignores_type_names: true, ..Self::post(name, description, members) }
    }

    /// The object with more fields.
    pub(crate) fn and<const N: usize>(mut self, members: [Member; N]) -> Self {
        self.members.extend(members);
        self
    }

    /// Accepts undescribed fields.
    pub(crate) fn open(self) -> Self {
        Self { is_open: true, ..self }
    }

    /// Adds a keyword of JSON Schema.
    pub(crate) fn keyword(mut self, keyword: &'static str, value: impl Into<Value>) -> Self {
        self.keywords.push((keyword, value.into()));
        self
    }

    /// An example with the fields that have one.
    pub(crate) fn example(&self) -> Value {
        let is_response = self.direction == Direction::Response;
        let shown = self.members.iter().filter(|it| is_response || it.is_in_example);
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
            json!({"type": "object", "properties": properties, "description": self.description});
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
    /// The example of a response belongs to its schema, that of a request to its operation.
    fn from(object: Object) -> Self {
        let schema = Self::new(object.name, object.schema());
        match object.direction {
            Direction::Request => schema,
            Direction::Response => schema.example(object.example()),
        }
    }
}
