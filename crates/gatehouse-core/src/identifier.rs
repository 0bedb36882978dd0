//! What connections are asked for by: the numbers on cards and terminals.
//!
//! The same card may be written with its check digit or without. [`Identifier::key`] is what is the same
//! for both, so two ways to write one card are one identifier wherever they are compared.

use std::fmt;

/// A kind of number that a connection may carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IdentifierKind {
    /// The number of a card.
    Iccid,
    /// The number of a subscription in the network.
    Imsi,
    /// The number that is called.
    Msisdn,
    /// The number of a satellite terminal.
    SerialNumber,
}

impl IdentifierKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Iccid, Self::Imsi, Self::Msisdn, Self::SerialNumber];

    /// The kind as a product's characteristics name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Iccid => "ICCID",
            Self::Imsi => "IMSI",
            Self::Msisdn => "MSISDN",
            Self::SerialNumber => "SERIAL_NUMBER",
        }
    }

    /// The kind as a list's filters name it.
    pub fn filter_name(self) -> &'static str {
        match self {
            Self::SerialNumber => "serialNumber",
            other => other.as_str(),
        }
    }

    /// What identifiers of the kind are like; reads on after `must be`.
    pub fn form(self) -> &'static str {
        match self {
            Self::Iccid => "`89` followed by 14 to 18 digits",
            Self::Imsi => "6 to 15 digits",
            Self::Msisdn => "6 to 15 digits, with or without a `+` in front",
            Self::SerialNumber => {
                "5 to 22 digits, or `SL-DF-` followed by 1 to 64 letters, digits or hyphens"
            }
        }
    }

    fn fits(self, text: &str) -> bool {
        let digits = |min, max| {
            (min..=max).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
        };
        match self {
            Self::Iccid => digits(16, 20) && text.starts_with("89"),
            Self::Imsi | Self::Msisdn => digits(6, 15),
            Self::SerialNumber => digits(5, 22) || is_satellite_line(text),
        }
    }
}

/// What the identifier of a satellite terminal begins with.
const SATELLITE_LINE: &str = "SL-DF-";

fn is_satellite_line(text: &str) -> bool {
    text.strip_prefix(SATELLITE_LINE).is_some_and(|rest| {
        (1..=64).contains(&rest.len())
            && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    })
}

/// A number of a kind, well formed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identifier {
    kind: IdentifierKind,
    value: String,
}

/// A text that is no identifier of the kind; reads on after the field's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be {}, not `{value}`", .kind.form())]
pub struct BadIdentifier {
    /// What it was taken for.
    pub kind: IdentifierKind,
    /// What it is, shortened.
    pub value: String,
}

/// Characters of a value that an error repeats.
const VALUE_CHARS_MAX: usize = 64;

impl Identifier {
    /// Reads an identifier of a kind.
    pub fn parse(kind: IdentifierKind, text: &str) -> Result<Self, BadIdentifier> {
        if kind.fits(text) {
            Ok(Self { kind, value: text.to_owned() })
        } else {
            Err(BadIdentifier { kind, value: text.chars().take(VALUE_CHARS_MAX).collect() })
        }
    }

    /// Reads an identifier as people write it: an MSISDN may have a `+` in front.
    pub fn given(kind: IdentifierKind, text: &str) -> Result<Self, BadIdentifier> {
        let plain = match kind {
            IdentifierKind::Msisdn => text.strip_prefix('+').unwrap_or(text),
            _ => text,
        };
        Self::parse(kind, plain).map_err(|bad| BadIdentifier {
            value: text.chars().take(VALUE_CHARS_MAX).collect(),
            ..bad
        })
    }

    /// Its kind.
    pub fn kind(&self) -> IdentifierKind {
        self.kind
    }

    /// The identifier as it was written.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// What is the same for all ways to write it.
    pub fn key(&self) -> &str {
        key(self.kind, &self.value)
    }
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.as_str(), self.value)
    }
}

/// What is the same for all ways to write an identifier: of a card with twenty digits whose last one is
/// the right check digit, the nineteen before it.
///
/// Nineteen digits are never shortened: some end in a check digit of their own, and one in ten would pass
/// for such by accident.
pub fn key(kind: IdentifierKind, value: &str) -> &str {
    let is_checked = kind == IdentifierKind::Iccid && value.len() == 20 && passes_luhn(value);
    if is_checked { &value[..19] } else { value }
}

/// The check digit that belongs behind these digits.
pub fn luhn_digit(digits: &str) -> Option<char> {
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let sum = luhn_sum(digits.bytes().rev(), 1);
    char::from_digit((10 - sum % 10) % 10, 10)
}

fn passes_luhn(digits: &str) -> bool {
    digits.bytes().all(|b| b.is_ascii_digit())
        && luhn_sum(digits.bytes().rev(), 0).is_multiple_of(10)
}

/// The weighted sum of digits, from the last to the first; every other one counts double.
fn luhn_sum(digits: impl Iterator<Item = u8>, first: usize) -> u32 {
    let weighed = digits.enumerate().map(|(n, byte)| {
        let digit = u32::from(byte - b'0') << ((n + first) % 2);
        if digit > 9 { digit - 9 } else { digit }
    });
    weighed.sum()
}

#[cfg(test)]
mod tests;
