//! Parameters of a query or a form: single, repeated, or nested in brackets.

use indexmap::IndexMap;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use zeroize::Zeroizing;

use super::path::text_of;
use super::template::{Part, Scope, Template, Variable};

/// A parameter's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Parameter {
    /// One value. Left out if a placeholder has no value.
    One(Template),
    /// The parameter is repeated for each template. A template with `{value}` is repeated for each value looked up.
    Many(Vec<Template>),
    /// Nested parameters: `page[size]`.
    Deep(Parameters),
    /// One value joined from all values looked up.
    Joined {
        /// Template for each value.
        each: Template,
        /// Separator.
        join: String,
    },
}

/// Parameters by name, in order.
pub(crate) type Parameters = IndexMap<String, Parameter>;

impl Parameter {
    /// All templates.
    pub(crate) fn templates(&self) -> Vec<&Template> {
        match self {
            Self::One(template) | Self::Joined { each: template, .. } => vec![template],
            Self::Many(templates) => templates.iter().collect(),
            Self::Deep(parameters) => parameters.values().flat_map(Self::templates).collect(),
        }
    }

    /// Adds encoded pairs for a query or a form to `pairs`.
    pub(crate) fn write(&self, name: &str, scope: &Scope<'_>, pairs: &mut Vec<String>) {
        let mut push = |value: Option<Zeroizing<String>>| {
            pairs.extend(value.map(|it| format!("{}={}", encoded(name), *it)));
        };
        match self {
            Self::One(template) => push(template.fill_with(scope, &encode_part)),
            Self::Many(templates) => {
                for template in templates {
                    for scope in scopes(template, scope) {
                        push(template.fill_with(&scope, &encode_part));
                    }
                }
            }
            Self::Deep(parameters) => {
                for (inner, parameter) in parameters {
                    parameter.write(&format!("{name}[{inner}]"), scope, pairs);
                }
            }
            Self::Joined { each, join } => {
                let texts = scopes(each, scope).filter_map(|it| each.fill_with(&it, &encode_part));
                let texts: Vec<String> = texts.map(|it| it.to_string()).collect();
                let join = encode_part(Part::Literal(join)).unwrap_or_default();
                push((!texts.is_empty()).then(|| Zeroizing::new(texts.join(&join))));
            }
        }
    }

    /// Adds only the pairs whose templates use certain variables.
    pub(crate) fn write_those_with(
        &self,
        is_meant: &dyn Fn(&Variable) -> bool,
        name: &str,
        scope: &Scope<'_>,
        pairs: &mut Vec<String>,
    ) {
        match self {
            Self::Deep(parameters) => {
                for (inner, parameter) in parameters {
                    parameter.write_those_with(is_meant, &format!("{name}[{inner}]"), scope, pairs);
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
            Template::try_from(text.into_owned())
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

/// Percent-encodes a text for any part of a URL.
pub(in crate::manifest) fn encoded(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, ENCODED)
}

/// Everything that needs encoding somewhere in a URL.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Everything but characters that a query allows and some platforms' query languages use.
const ENCODED_LITERAL: &AsciiSet =
    &ENCODED.remove(b',').remove(b':').remove(b'/').remove(b'@').remove(b'*').remove(b'$');

/// Encodes a part of a value for a query or a form.
fn encode_part(part: Part<'_>) -> Option<String> {
    Some(match part {
        Part::Literal(text) => utf8_percent_encode(text, ENCODED_LITERAL).to_string(),
        Part::Value(text) => encoded(text).to_string(),
    })
}

/// A scope for each value looked up if the template uses `{value}`, else the scope itself.
pub(in crate::manifest) fn scopes<'a>(
    template: &Template,
    scope: &Scope<'a>,
) -> impl Iterator<Item = Scope<'a>> + use<'a> {
    let is_for_each = template.mentions(|it| *it == Variable::Value);
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
            "description": "One value, a list (the parameter is repeated), nested parameters \
                            (`page: { size: … }` is `page[size]`), or `each` and `join` for one value joined \
                            from all values looked up.",
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
