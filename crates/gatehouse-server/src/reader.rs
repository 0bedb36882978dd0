//! The one reader of bodies: it reports every fault at once, not the first one.
//!
//! A body is first read into a [`Json`] tree that keeps duplicate keys. A [`Reader`] then takes the
//! fields of an object one by one. Whatever is wrong (missing, null, a wrong type, out of bounds,
//! unknown, twice) becomes a [`Fault`] that names the field, and reading goes on.
//! Estates are read by it too, so a file and a request are refused in the same words.

mod json;
mod long_list;

pub use json::Json;
pub(crate) use json::Keep;
pub(crate) use long_list::LongList;

use std::fmt::{self, Display};
use std::str::FromStr;

use gatehouse_core::Timestamp;
use gatehouse_core::credential::Password;

/// Faults that are reported; a body with more has other problems.
pub const FAULTS_MAX: usize = 100;

/// Characters of a name or a value that an error repeats.
const VALUE_CHARS_MAX: usize = 64;

/// One thing that is wrong with a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The field, with the way to it: `tenants[2].name`.
    pub name: String,
    /// What would be right; reads on after the name.
    pub reason: String,
}

impl Display for Fault {
    /// A sentence with the field as its subject; `""` for a field whose name is empty.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.name.is_empty() { "\"\"" } else { &self.name };
        write!(f, "{name} {}", self.reason)
    }
}

/// All faults in one line.
pub fn told(faults: &[Fault]) -> String {
    let lines: Vec<String> = faults.iter().map(Fault::to_string).collect();
    lines.join("; ")
}

/// Everything that is wrong with a body.
#[derive(Debug, Default)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// Adds one.
    pub fn add(&mut self, name: impl Into<String>, reason: impl Into<String>) {
        if self.0.len() < FAULTS_MAX {
            self.0.push(Fault { name: name.into(), reason: reason.into() });
        }
    }

    /// All of them, if there are any.
    pub fn check(self) -> Result<(), Vec<Fault>> {
        if self.0.is_empty() { Ok(()) } else { Err(self.0) }
    }
}

/// A field that must be there.
#[derive(Debug)]
pub struct Required<T>(Option<T>);

impl<T> Required<T> {
    /// The value, once [`Faults::check`] has found nothing missing.
    pub fn value(self) -> T {
        self.0.expect("a field that is missing is a fault, and faults were checked")
    }

    /// The value, if it could be read.
    pub fn known(&self) -> Option<&T> {
        self.0.as_ref()
    }

    /// The same, for who needs it whole.
    pub fn into_known(self) -> Option<T> {
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
    /// Begins to read an object. `path` is the way to it; empty for the body itself.
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

    /// Reads the body of a POST: in it, an optional field that is `null` is absent.
    pub fn of_post(mut self) -> Self {
        self.is_null_absent = true;
        self
    }

    /// Reads something to be made: as the body of a POST, and without the names of its type.
    pub fn of_creation(mut self) -> Self {
        self.fields.retain(|(name, _)| !TYPE_NAMES.contains(&name.as_str()));
        self.of_post()
    }

    /// Takes a field that must be there.
    pub fn required<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(Json) -> Result<T, String>,
    ) -> Required<T> {
        self.known.push(name);
        let Some(json) = self.take(name) else {
            // What is no object at all has been told already.
            if self.is_object {
                let path = self.path_of(name);
                self.faults.add(path, "is missing");
            }
            return Required(None);
        };
        Required(self.read(name, json, read))
    }

    /// Takes a field that may be left out.
    pub fn optional<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(Json) -> Result<T, String>,
    ) -> Option<T> {
        self.known.push(name);
        let json = self.take(name)?;
        if self.is_absent(&json) { None } else { self.read(name, json, read) }
    }

    /// Refuses a field that is known but has no business here.
    pub fn forbid(&mut self, name: &'static str, reason: &str) {
        self.forbidden.push(name);
        if self.take(name).is_some() {
            let path = self.path_of(name);
            self.faults.add(path, reason);
        }
    }

    /// Reports a fault that lies between fields.
    pub fn fault(&mut self, name: &str, reason: impl Into<String>) {
        let path = self.path_of(name);
        self.faults.add(path, reason);
    }

    /// Reports what is wrong with the object as a whole. What is no object at all has been told already.
    pub fn fault_of_whole(&mut self, reason: impl Into<String>) {
        if self.is_object {
            let name = if self.path.is_empty() { "body" } else { &self.path };
            self.faults.add(name, reason);
        }
    }

    /// Whether there is a field of this name that was not taken yet, whatever it is.
    pub fn holds(&self, name: &str) -> bool {
        self.fields.iter().any(|(field, json)| field == name && !self.is_absent(json))
    }

    /// Whether it is an object without fields.
    pub fn is_empty(&self) -> bool {
        self.is_object && self.fields.is_empty()
    }

    /// Ends reading: whatever is left is unknown, or there twice.
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

/// A text, whatever it holds.
pub fn text(json: Json) -> Result<String, String> {
    match json {
        Json::Text(text) => Ok(text),
        other => Err(format!("must be a string, not {}", other.kind())),
    }
}

/// A text that its type accepts.
pub fn parsed<T: FromStr>(json: Json) -> Result<T, String>
where
    T::Err: Display,
{
    text(json)?.parse().map_err(|bad: T::Err| bad.to_string())
}

/// A password; its value is never repeated.
pub fn password(json: Json) -> Result<Password, String> {
    Password::new(text(json)?).map_err(|bad| bad.to_string())
}

/// What is asked for by being there: `true`.
pub fn yes(json: Json) -> Result<(), String> {
    match json {
        Json::Bool(true) => Ok(()),
        Json::Bool(false) => Err("must be true, or left out".into()),
        other => Err(format!("must be a boolean, not {}", other.kind())),
    }
}

/// An instant.
pub fn instant(json: Json) -> Result<Timestamp, String> {
    parsed(json)
}

/// One of a few words.
pub fn word<T: Copy>(
    all: &'static [T],
    word_of: impl Fn(T) -> &'static str,
) -> impl FnOnce(Json) -> Result<T, String> {
    move |json| {
        let given = text(json)?;
        all.iter().copied().find(|it| word_of(*it) == given).ok_or_else(|| {
            let words: Vec<&str> = all.iter().map(|it| word_of(*it)).collect();
            format!("must be one of {}, not `{}`", words.join(", "), shortened(&given))
        })
    }
}

/// A whole number within bounds.
pub fn number(min: u64, max: u64) -> impl FnOnce(Json) -> Result<u64, String> {
    move |json| {
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

/// A whole number that is written with a point or an exponent: to JSON Schema, `5.0` is an integer like `5`.
fn whole(number: f64) -> Option<u64> {
    // Beyond this, neighbours can't be told apart.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    let is_whole = number.fract() == 0.0 && (0.0..=EXACT_MAX).contains(&number);
    is_whole.then_some(number as u64)
}

/// As much of a value as an error may repeat.
pub fn shortened(value: &str) -> String {
    value.chars().take(VALUE_CHARS_MAX).collect()
}

/// The same for what is kept: control characters, which not every store can keep, are replaced.
pub fn printable(value: &str) -> String {
    let shown = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    value.chars().take(VALUE_CHARS_MAX).map(shown).collect()
}

/// An object, whatever it holds.
pub fn object(json: Json) -> Result<Json, String> {
    match json {
        Json::Object(_) => Ok(json),
        other => Err(format!("must be an object, not {}", other.kind())),
    }
}

/// A list of whatever.
pub fn list(json: Json) -> Result<Vec<Json>, String> {
    match json {
        Json::List(items) => Ok(items),
        other => Err(format!("must be a list, not {}", other.kind())),
    }
}

#[cfg(test)]
mod tests;
