//! Reads request bodies and estate files, and reports every fault at once.
//!
//! A body is first parsed into a [`Json`] tree with its duplicate keys. A [`Reader`] then takes the `Field`s of an
//! object. Every fault (missing, null, a wrong type, out of bounds, unknown, duplicate) becomes a [`Fault`] that names
//! the field, and reading goes on.

mod field;
mod form;
mod json;
mod long_list;
mod value;

pub(crate) use field::{Describe, Field};
pub(crate) use form::{
    Array, Direction, Flag, Form, Instant, Integer, Named, OneOf, Readable, Secret, Shape, Text,
    True,
};
pub use json::Json;
pub(crate) use json::Keep;
pub(crate) use long_list::LongList;
pub(crate) use value::{list, object, printable, shortened, text};

use std::fmt::{self, Display};

/// Most faults that are reported for one body.
pub const FAULTS_MAX: usize = 100;

/// A fault of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The path to the field: `tenants[2].name`.
    pub name: String,
    /// The right value, as a phrase that follows the name.
    pub reason: String,
}

impl Display for Fault {
    /// A sentence with the field as its subject; `""` for a field whose name is empty.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.name.is_empty() { "\"\"" } else { &self.name };
        write!(f, "{name} {}", self.reason)
    }
}

/// Joins faults into one line.
pub fn joined(faults: &[Fault]) -> String {
    let lines: Vec<String> = faults.iter().map(Fault::to_string).collect();
    lines.join("; ")
}

/// All faults of a body.
#[derive(Debug, Default)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// Adds a fault, unless there are [`FAULTS_MAX`] already.
    pub fn add(&mut self, name: impl Into<String>, reason: impl Into<String>) {
        if self.0.len() < FAULTS_MAX {
            self.0.push(Fault { name: name.into(), reason: reason.into() });
        }
    }

    /// Fails with all faults, if there are any.
    pub fn check(self) -> Result<(), Vec<Fault>> {
        if self.0.is_empty() { Ok(()) } else { Err(self.0) }
    }
}

/// A field that must be there.
#[derive(Debug)]
pub struct Required<T>(Option<T>);

impl<T> Required<T> {
    /// The value, after [`Faults::check`] has succeeded.
    pub fn value(self) -> T {
        self.0.expect("a field that is missing is a fault, and faults were checked")
    }

    /// The value, if it is valid.
    pub fn as_option(&self) -> Option<&T> {
        self.0.as_ref()
    }

    /// The owned value, if it is valid.
    pub fn into_option(self) -> Option<T> {
        self.0
    }
}

/// Reads the fields of one object.
pub struct Reader<'f> {
    path: String,
    fields: Vec<(String, Json)>,
    is_object: bool,
    known: Vec<&'static str>,
    forbidden: Vec<&'static str>,
    /// Whether `null` means that an optional field is absent.
    is_null_absent: bool,
    faults: &'f mut Faults,
}

/// The fields that TMF clients send with every resource to name its type.
pub(crate) const TYPE_NAMES: [&str; 3] = ["@type", "@baseType", "@schemaLocation"];

impl<'f> Reader<'f> {
    /// Starts reading the object at `path`; the path of the whole body is empty.
    pub fn new(json: Json, path: &str, faults: &'f mut Faults) -> Self {
        let is_object = matches!(json, Json::Object(_));
        let fields = match json {
            Json::Object(fields) => fields,
            other => {
                let name = if path.is_empty() { "body" } else { path };
                faults.add(name, format!("must be an object, not {}", other.kind()));
                Vec::new()
            }
        };
        Self {
            path: path.to_owned(),
            fields,
            is_object,
            known: Vec::new(),
            forbidden: Vec::new(),
            is_null_absent: false,
            faults,
        }
    }

    /// Treats an optional field that is `null` as absent, as in the body of a POST.
    pub fn of_post(mut self) -> Self {
        self.is_null_absent = true;
        self
    }

    /// Reads the POST body that creates a resource: TMF type names are ignored, and `null` is absent.
    pub fn of_creation(mut self) -> Self {
        self.fields.retain(|(name, _)| !TYPE_NAMES.contains(&name.as_str()));
        self.of_post()
    }

    /// Takes a required field.
    pub(crate) fn required<F: Readable>(&mut self, field: Field<F>) -> Required<F::Value> {
        self.required_by(field, |json| field.form.read(json))
    }

    /// Takes a required field, and reads its value with `read`.
    pub(crate) fn required_by<F, T>(
        &mut self,
        Field { name, .. }: Field<F>,
        read: impl FnOnce(Json) -> Result<T, String>,
    ) -> Required<T> {
        self.known.push(name);
        let Some(json) = self.take(name) else {
            // A value that is no object has its fault already.
            if self.is_object {
                let path = self.path_of(name);
                self.faults.add(path, "is missing");
            }
            return Required(None);
        };
        Required(self.read(name, json, read))
    }

    /// Takes an optional field.
    pub(crate) fn optional<F: Readable>(&mut self, field: Field<F>) -> Option<F::Value> {
        self.optional_by(field, |json| field.form.read(json))
    }

    /// Takes an optional field, and reads its value with `read`.
    pub(crate) fn optional_by<F, T>(
        &mut self,
        Field { name, .. }: Field<F>,
        read: impl FnOnce(Json) -> Result<T, String>,
    ) -> Option<T> {
        self.known.push(name);
        let json = self.take(name)?;
        if self.is_absent(&json) { None } else { self.read(name, json, read) }
    }

    /// Refuses a field of the resource that this body must not have.
    pub fn forbid(&mut self, name: &'static str, reason: &str) {
        self.forbidden.push(name);
        if self.take(name).is_some() {
            let path = self.path_of(name);
            self.faults.add(path, reason);
        }
    }

    /// Reports a fault that depends on several fields.
    pub fn fault(&mut self, name: &str, reason: impl Into<String>) {
        let path = self.path_of(name);
        self.faults.add(path, reason);
    }

    /// Reports a fault of the whole object. A value that is no object has its fault already.
    pub fn fault_of_whole(&mut self, reason: impl Into<String>) {
        if self.is_object {
            let name = if self.path.is_empty() { "body" } else { &self.path };
            self.faults.add(name, reason);
        }
    }

    /// Reports that a field is missing for which another could stand.
    pub fn fault_of_missing(&mut self, name: &str, other: &str) {
        if self.is_object {
            self.fault(name, format!("is missing; give it, or `{other}`"));
        }
    }

    /// Whether the object has a field of this name, be it `null`, that hasn't been taken.
    pub fn names(&self, name: &str) -> bool {
        self.fields.iter().any(|(field, _)| field == name)
    }

    /// Whether the object has a field of this name that hasn't been taken.
    pub fn holds(&self, name: &str) -> bool {
        self.fields.iter().any(|(field, json)| field == name && !self.is_absent(json))
    }

    /// Whether the object has no fields.
    pub fn is_empty(&self) -> bool {
        self.is_object && self.fields.is_empty()
    }

    /// Ends reading: the remaining fields are unknown or duplicates.
    pub fn finish(self) {
        for (name, _) in &self.fields {
            let path = self.path_of(&shortened(name));
            if self.known.iter().chain(&self.forbidden).any(|known| known == name) {
                self.faults.add(path, "is there more than once");
            } else {
                let known = self.known.join(", ");
                self.faults
                    .add(path, format!("is not a field of this object; it may have {known}"));
            }
        }
    }

    fn is_absent(&self, json: &Json) -> bool {
        self.is_null_absent && matches!(json, Json::Null)
    }

    fn take(&mut self, name: &str) -> Option<Json> {
        let at = self.fields.iter().position(|(field, _)| field == name)?;
        Some(self.fields.remove(at).1)
    }

    fn read<T>(
        &mut self,
        name: &str,
        json: Json,
        read: impl FnOnce(Json) -> Result<T, String>,
    ) -> Option<T> {
        match read(json) {
            Ok(value) => Some(value),
            Err(reason) => {
                let path = self.path_of(name);
                self.faults.add(path, reason);
                None
            }
        }
    }

    fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }
}

#[cfg(test)]
mod tests;
