//! Transforms of values: a small closed set.

use gatehouse_core::IdentifierKind;
use gatehouse_core::identifier::{self, luhn_digit};
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use smol_str::{SmolStr, format_smolstr};

use super::pattern::Pattern;

/// A transform of values.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Transform {
    /// Removes white space at both ends.
    Trim,
    /// Converts to lower case.
    Lower,
    /// Converts to upper case.
    Upper,
    /// Keeps only digits.
    Digits,
    /// Appends the check digit to an ICCID of 19 digits; other values stay as they are.
    LuhnAdd,
    /// Removes a correct check digit from an ICCID of 20 digits; other values stay as they are.
    LuhnStrip,
    /// Keeps only the first value.
    First,
    /// Splits each value at this separator.
    Split(String),
    /// Prepends this text.
    Prefix(String),
    /// Removes this prefix, if present.
    StripPrefix(String),
    /// Removes this suffix, if present.
    StripSuffix(String),
    /// Keeps only values that match this pattern.
    Matching(Pattern),
}

/// Digits of an ICCID without its check digit.
const CARD_DIGITS: usize = 19;

impl Transform {
    /// The transform with this name, if templates may use it.
    pub(in crate::manifest) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "trim" => Self::Trim,
            "lower" => Self::Lower,
            "upper" => Self::Upper,
            "digits" => Self::Digits,
            "luhn_add" => Self::LuhnAdd,
            "luhn_strip" => Self::LuhnStrip,
            _ => return None,
        })
    }

    /// Names of the transforms that templates may use.
    pub(in crate::manifest) const NAMED: &str = "trim, lower, upper, digits, luhn_add, luhn_strip";

    /// Transforms a single value.
    pub(crate) fn one(&self, text: SmolStr) -> SmolStr {
        match self {
            Self::Trim => text.trim().into(),
            // The library's own function for short texts ignores that a final sigma is written differently.
            Self::Lower => text.to_lowercase().into(),
            Self::Upper => text.to_uppercase().into(),
            Self::Digits => text.chars().filter(char::is_ascii_digit).collect(),
            Self::LuhnAdd if text.len() == CARD_DIGITS => match luhn_digit(&text) {
                Some(digit) => format_smolstr!("{text}{digit}"),
                None => text,
            },
            Self::LuhnStrip => identifier::key(IdentifierKind::Iccid, &text).into(),
            Self::Prefix(prefix) => format_smolstr!("{prefix}{text}"),
            Self::StripPrefix(prefix) => {
                text.strip_prefix(prefix.as_str()).map(SmolStr::new).unwrap_or(text)
            }
            Self::StripSuffix(suffix) => {
                text.strip_suffix(suffix.as_str()).map(SmolStr::new).unwrap_or(text)
            }
            Self::LuhnAdd | Self::First | Self::Split(_) | Self::Matching(_) => text,
        }
    }

    /// Transforms all values.
    pub(crate) fn all(&self, mut texts: Vec<SmolStr>) -> Vec<SmolStr> {
        match self {
            Self::First => texts.truncate(1),
            Self::Matching(pattern) => texts.retain(|text| pattern.matches(text)),
            Self::Split(at) => {
                texts =
                    texts.iter().flat_map(|it| it.split(at.as_str())).map(SmolStr::new).collect();
            }
            _ => texts = texts.into_iter().map(|text| self.one(text)).collect(),
        }
        texts
    }
}

#[cfg(test)]
mod tests;
