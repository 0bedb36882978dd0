//! What is done to a text on its way: a small closed set.

use gatehouse_core::IdentifierKind;
use gatehouse_core::identifier::{self, luhn_digit};
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use super::pattern::Pattern;

/// One thing that is done to texts, in order.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Transform {
    /// Takes white space off both ends.
    Trim,
    /// Writes it in lower case.
    Lower,
    /// Writes it in upper case.
    Upper,
    /// Leaves only its digits.
    Digits,
    /// Puts the check digit behind a card number of 19 digits; others stay as they are.
    LuhnAdd,
    /// Takes the check digit off a card number of 20 digits, where it is the right one; others stay as they are.
    LuhnStrip,
    /// Leaves only the first of several.
    First,
    /// Makes several of one, at each of these.
    Split(String),
    /// Puts this before it.
    Prefix(String),
    /// Takes this off its beginning, where it is there.
    StripPrefix(String),
    /// Takes this off its end, where it is there.
    StripSuffix(String),
    /// Leaves only those that are like this.
    Matching(Pattern),
}

/// Digits of a card number without and with its check digit.
const CARD_DIGITS: usize = 19;

impl Transform {
    /// The ones that can stand in a template, by their names.
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

    /// The names of those.
    pub(in crate::manifest) const NAMED: &str = "trim, lower, upper, digits, luhn_add, luhn_strip";

    /// Does it to one text that stays one.
    pub(crate) fn one(&self, text: String) -> String {
        match self {
            Self::Trim => text.trim().to_owned(),
            Self::Lower => text.to_lowercase(),
            Self::Upper => text.to_uppercase(),
            Self::Digits => text.chars().filter(char::is_ascii_digit).collect(),
            Self::LuhnAdd if text.len() == CARD_DIGITS => match luhn_digit(&text) {
                Some(digit) => text + digit.encode_utf8(&mut [0; 4]),
                None => text,
            },
            Self::LuhnStrip => identifier::key(IdentifierKind::Iccid, &text).to_owned(),
            Self::Prefix(prefix) => format!("{prefix}{text}"),
            Self::StripPrefix(prefix) => {
                text.strip_prefix(prefix.as_str()).map(str::to_owned).unwrap_or(text)
            }
            Self::StripSuffix(suffix) => {
                text.strip_suffix(suffix.as_str()).map(str::to_owned).unwrap_or(text)
            }
            Self::LuhnAdd | Self::First | Self::Split(_) | Self::Matching(_) => text,
        }
    }

    /// Does it to several.
    pub(crate) fn all(&self, mut texts: Vec<String>) -> Vec<String> {
        match self {
            Self::First => texts.truncate(1),
            Self::Matching(pattern) => texts.retain(|text| pattern.matches(text)),
            Self::Split(at) => {
                texts =
                    texts.iter().flat_map(|it| it.split(at.as_str())).map(str::to_owned).collect();
            }
            _ => texts = texts.into_iter().map(|text| self.one(text)).collect(),
        }
        texts
    }
}

#[cfg(test)]
mod tests;
