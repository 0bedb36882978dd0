//! Identifiers of connections: the numbers of cards, subscriptions and terminals.
//!
//! A card's number may be written with or without its check digit. [`Identifier::key`] is equal for both.

use std::fmt;

/// Kind of number that a connection may carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IdentifierKind {
    /// Number of a SIM card.
    Iccid,
    /// Number of a subscription in the network.
    Imsi,
    /// Phone number.
    Msisdn,
    /// Number of a satellite terminal.
    SerialNumber,
}

impl IdentifierKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Iccid, Self::Imsi, Self::Msisdn, Self::SerialNumber];

    /// The kind's name in a product's characteristics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Iccid => "ICCID",
            Self::Imsi => "IMSI",
            Self::Msisdn => "MSISDN",
            Self::SerialNumber => "SERIAL_NUMBER",
        }
    }

    /// The kind's name in a list's filter.
    pub fn filter_name(self) -> &'static str {
        match self {
            Self::SerialNumber => "serialNumber",
            other => other.as_str(),
        }
    }

    /// Describes valid identifiers of the kind; continues after `must be`.
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

    fn accepts(self, text: &str) -> bool {
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

/// Prefix of a satellite terminal's identifier.
const SATELLITE_LINE: &str = "SL-DF-";

fn is_satellite_line(text: &str) -> bool {
    text.strip_prefix(SATELLITE_LINE).is_some_and(|rest| {
        (1..=64).contains(&rest.len())
            && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    })
}

/// A well-formed identifier of a kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identifier {
    kind: IdentifierKind,
    value: String,
}

/// A text that is no identifier of the kind; continues after the field's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be {}, not `{value}`", .kind.form())]
pub struct BadIdentifier {
    /// The expected kind.
    pub kind: IdentifierKind,
    /// The text, shortened.
    pub value: String,
}

/// Characters of a value that an error repeats.
const VALUE_CHARS_MAX: usize = 64;

impl Identifier {
    /// Parses an identifier of a kind.
    pub fn parse(kind: IdentifierKind, text: &str) -> Result<Self, BadIdentifier> {
        if kind.accepts(text) {
            Ok(Self { kind, value: text.to_owned() })
        } else {
            Err(BadIdentifier { kind, value: text.chars().take(VALUE_CHARS_MAX).collect() })
        }
    }

    /// Parses an identifier as people write it: an MSISDN may begin with `+`.
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

    /// The identifier's kind.
    pub fn kind(&self) -> IdentifierKind {
        self.kind
    }

    /// The identifier as the client wrote it.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Canonical form, equal for every spelling of the identifier.
    pub fn key(&self) -> &str {
        key(self.kind, &self.value)
    }
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.as_str(), self.value)
    }
}

/// Canonical form of an identifier: a card number of twenty digits with a correct check digit loses that digit.
///
/// A number of nineteen digits is never shortened: some end in a check digit of their own, and one in ten would pass
/// for such by accident.
pub fn key(kind: IdentifierKind, value: &str) -> &str {
    let is_checked = kind == IdentifierKind::Iccid && value.len() == 20 && passes_luhn(value);
    if is_checked { &value[..19] } else { value }
}

/// The check digit of these digits.
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
