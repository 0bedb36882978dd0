//! Parameters of a query or a form: one value, several of one name, or names within names.

use indexmap::IndexMap;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use zeroize::Zeroizing;

use super::path::text_of;
use super::template::{Part, Scope, Template, What};

/// What a parameter is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Parameter {
    /// One value. It is left out where a hole of it has nothing to be filled with.
    One(Template),
    /// The name again for each. One that mentions `{value}` stands for each that is looked up.
    Many(Vec<Template>),
    /// Names within the name, in brackets: `page[size]`.
    Deep(Parameters),
    /// One value that is made of all that are looked up.
    Joined {
        /// What becomes of each.
        each: Template,
        /// What stands between them.
        join: String,
    },
}

/// Parameters by name, in order.
pub(crate) type Parameters = IndexMap<String, Parameter>;

impl Parameter {
    /// All templates in it.
    pub(crate) fn templates(&self) -> Vec<&Template> {
        match self {
            Self::One(template) | Self::Joined { each: template, .. } => vec![template],
            Self::Many(templates) => templates.iter().collect(),
            Self::Deep(parameters) => parameters.values().flat_map(Self::templates).collect(),
        }
    }

    /// Adds names and values to `pairs`, as they stand in an address or a form.
    pub(crate) fn write(&self, name: &str, scope: &Scope<'_>, pairs: &mut Vec<String>) {
        let mut push = |value: Option<Zeroizing<String>>| {
            pairs.extend(value.map(|it| format!("{}={}", encoded(name), *it)));
        };
        match self {
            Self::One(template) => push(template.fill_with(scope, &written)),
            Self::Many(templates) => {
                for template in templates {
                    for scope in scopes(template, scope) {
                        push(template.fill_with(&scope, &written));
                    }
                }
            }
            Self::Deep(parameters) => {
                for (inner, parameter) in parameters {
                    parameter.write(&format!("{name}[{inner}]"), scope, pairs);
                }
            }
            Self::Joined { each, join } => {
                let texts = scopes(each, scope).filter_map(|it| each.fill_with(&it, &written));
                let texts: Vec<String> = texts.map(|it| it.to_string()).collect();
                let join = written(Part::Own(join)).unwrap_or_default();
                push((!texts.is_empty()).then(|| Zeroizing::new(texts.join(&join))));
            }
        }
    }

    /// The same, with those alone that mention something.
    pub(crate) fn write_those(
        &self,
        is_meant: &dyn Fn(&What) -> bool,
        name: &str,
        scope: &Scope<'_>,
        pairs: &mut Vec<String>,
    ) {
        match self {
            Self::Deep(parameters) => {
                for (inner, parameter) in parameters {
                    parameter.write_those(is_meant, &format!("{name}[{inner}]"), scope, pairs);
                }
            }
            other if other.templates().iter().any(|it| it.mentions(is_meant)) => {
                other.write(name, scope, pairs);
            }
            _ => {}
        }
    }

    fn read(value: &Value) -> Result<Self, String> {
        let template = |value: &Value| {
            let text = text_of(value)
                .ok_or_else(|| format!("must be a text, a number or a truth value, not {value}"))?;
            Template::try_from(text)
        };
        match value {
            Value::Array(members) => {
                members.iter().map(template).collect::<Result<_, _>>().map(Self::Many)
            }
            Value::Object(members) if members.contains_key("each") => {
                let (Some(each), Some(Value::String(join)), 2) =
                    (members.get("each"), members.get("join"), members.len())
                else {
                    return Err("must have `each` and `join`, both of them texts".into());
                };
                Ok(Self::Joined { each: template(each)?, join: join.clone() })
            }
            Value::Object(members) => {
                let read =
                    |(name, value): (&String, &Value)| Ok((name.clone(), Self::read(value)?));
                members.iter().map(read).collect::<Result<_, String>>().map(Self::Deep)
            }
            one => template(one).map(Self::One),
        }
    }
}

/// A text as it stands anywhere in an address.
pub(in crate::manifest) fn encoded(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, ENCODED)
}

/// All but what needs no encoding anywhere in an address.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The same, but for signs that some platforms' own languages are made of, and that may stand in a query.
const ENCODED_OWN: &AsciiSet =
    &ENCODED.remove(b',').remove(b':').remove(b'/').remove(b'@').remove(b'*').remove(b'$');

/// A part of a value as it stands in a query or a form.
fn written(part: Part<'_>) -> Option<String> {
    Some(match part {
        Part::Own(text) => utf8_percent_encode(text, ENCODED_OWN).to_string(),
        Part::Given(text) => encoded(text).to_string(),
    })
}

/// A scope for each that is looked up where the template mentions one, else the scope itself.
pub(in crate::manifest) fn scopes<'a>(
    template: &Template,
    scope: &Scope<'a>,
) -> impl Iterator<Item = Scope<'a>> + use<'a> {
    let is_for_each = template.mentions(|it| *it == What::Value);
    let (scope, n) = (*scope, if is_for_each { scope.values.len() } else { 1 });
    (0..n).map(move |at| {
        let values = if is_for_each { &scope.values[at..=at] } else { scope.values };
        Scope { values, ..scope }
    })
}

impl<'de> Deserialize<'de> for Parameter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Self::read(&value).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
impl JsonSchema for Parameter {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Parameter".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let one = json_schema!({ "type": ["string", "number", "boolean"] });
        json_schema!({
            "description": "One value, a list (the name again for each), names within the name \
                            (`page: { size: … }` is `page[size]`), or `each` and `join` for one value made of \
                            all that are looked up.",
            "anyOf": [
                one,
                { "type": "array", "items": one },
                {
                    "type": "object",
                    "properties": { "each": { "type": "string" }, "join": { "type": "string" } },
                    "required": ["each", "join"],
                    "additionalProperties": false,
                },
                { "type": "object", "additionalProperties": { "$ref": "#/$defs/Parameter" } },
            ],
        })
    }
}

#[cfg(test)]
mod tests;
