//! JSON bodies with placeholders.

#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::parameter::scopes;
use super::template::{Scope, Template};

/// A JSON value in which every string is a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// A value that stays as it is.
    Plain(Value),
    /// A string with placeholders. A lone numeric placeholder gives a number.
    Text(Template),
    /// A list. A member with `{value}` is repeated for each value that is looked up.
    List(Vec<Body>),
    /// Members by name. A member with a placeholder without a value is left out.
    Members(Vec<(String, Body)>),
}

impl Body {
    /// All templates.
    pub(crate) fn templates(&self) -> Vec<&Template> {
        match self {
            Self::Plain(_) => Vec::new(),
            Self::Text(template) => vec![template],
            Self::List(members) => members.iter().flat_map(Self::templates).collect(),
            Self::Members(members) => members.iter().flat_map(|(_, it)| it.templates()).collect(),
        }
    }

    /// Fills in the placeholders; `None` if one has no value.
    pub(crate) fn fill(&self, scope: &Scope<'_>) -> Option<Value> {
        Some(match self {
            Self::Plain(value) => value.clone(),
            Self::Text(template) => {
                let text = template.fill(scope)?;
                // A time may be before 1970. A number with too many digits stays a string.
                let number = text.parse::<u64>().map(Value::from);
                match number.or_else(|_| text.parse::<i64>().map(Value::from)) {
                    Ok(number) if template.is_number() => number,
                    _ => Value::String(text.to_string()),
                }
            }
            Self::List(members) => {
                let mut filled = Vec::new();
                for member in members {
                    match member.templates().into_iter().find(|it| scopes(it, scope).count() != 1) {
                        Some(each) => {
                            filled.extend(scopes(each, scope).filter_map(|it| member.fill(&it)));
                        }
                        None => filled.extend(member.fill(scope)),
                    }
                }
                Value::Array(filled)
            }
            Self::Members(members) => {
                let filled = members.iter();
                let filled = filled.filter_map(|(name, it)| Some((name.clone(), it.fill(scope)?)));
                Value::Object(filled.collect::<Map<_, _>>())
            }
        })
    }

    fn read(value: Value) -> Result<Self, String> {
        Ok(match value {
            Value::String(text) => Self::Text(Template::try_from(text)?),
            Value::Array(members) => {
                Self::List(members.into_iter().map(Self::read).collect::<Result<_, _>>()?)
            }
            Value::Object(members) => {
                let read = |(name, value)| Ok((name, Self::read(value)?));
                Self::Members(members.into_iter().map(read).collect::<Result<_, String>>()?)
            }
            other => Self::Plain(other),
        })
    }
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
impl JsonSchema for Body {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Body".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "A JSON value; every string in it is a template." })
    }
}

#[cfg(test)]
mod tests;
