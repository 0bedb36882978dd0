//! Identifiers as people write them: from labels, spreadsheets and mails, with kinds guessed by their form.
//!
//! | form | guess |
//! |---|---|
//! | `89` and 14 to 18 digits, perhaps followed by a filling `F` | an ICCID, then a serial number |
//! | `+` and digits | an MSISDN |
//! | 6 to 15 digits | an IMSI or an MSISDN, then a serial number |
//! | 5 digits, or up to 22, or `SL-DF-…` | a serial number |
//! | `PLATFORM-…` | the ID of a product |

use clap::ValueEnum;
use gatehouse_core::identifier::luhn_digit;
use gatehouse_core::{Identifier, IdentifierKind, ProductId};
use serde_json::Value;

use super::values_of;
use crate::terminal::output::text;

/// Kind of an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum)]
pub(crate) enum NumberKind {
    /// ICCID, the number of a card
    Iccid,
    /// IMSI, the number of a subscription
    Imsi,
    /// MSISDN, the number to call
    Msisdn,
    /// Serial number of a terminal
    Serial,
    /// Product ID: PLATFORM-…
    Id,
}

/// An identifier with its possible kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IdentifierGuess {
    /// The text as it was given.
    pub(crate) given: String,
    /// The value for the server.
    pub(crate) value: String,
    /// The likely kinds, tried first.
    pub(crate) likely: Vec<NumberKind>,
    /// Other possible kinds, tried if nothing is found.
    pub(crate) possible: Vec<NumberKind>,
}

impl NumberKind {
    /// The field of a search request for this kind.
    pub(crate) fn list(self) -> &'static str {
        match self {
            Self::Iccid => "iccidList",
            Self::Imsi => "imsiList",
            Self::Msisdn => "msisdnList",
            Self::Serial => "terminalSNList",
            Self::Id => "iotConnectionProductIdList",
        }
    }

    /// The name for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Iccid => "ICCID",
            Self::Imsi => "IMSI",
            Self::Msisdn => "MSISDN",
            Self::Serial => "serial number",
            Self::Id => "product ID",
        }
    }

    fn identifier(self) -> Option<IdentifierKind> {
        Some(match self {
            Self::Iccid => IdentifierKind::Iccid,
            Self::Imsi => IdentifierKind::Imsi,
            Self::Msisdn => IdentifierKind::Msisdn,
            Self::Serial => IdentifierKind::SerialNumber,
            Self::Id => return None,
        })
    }

    /// Whether a text can be of this kind.
    fn fits(self, text: &str) -> bool {
        match self.identifier() {
            Some(kind) => Identifier::parse(kind, text).is_ok(),
            None => text.parse::<ProductId>().is_ok(),
        }
    }

    /// Whether two texts are the same identifier.
    pub(crate) fn is_same(self, one: &str, other: &str) -> bool {
        match self.identifier() {
            Some(kind) => {
                let key = |value| gatehouse_core::identifier::key(kind, value);
                key(one) == key(other)
            }
            None => one == other,
        }
    }

    /// Whether a product has the identifier. A card with its check digit and without is the same card.
    pub(crate) fn is_carried(self, product: &Value, value: &str) -> bool {
        let Some(kind) = self.identifier() else { return text(product, "id") == value };
        values_of(product, kind.as_str()).any(|it| self.is_same(it.trim_start_matches('+'), value))
    }
}

impl IdentifierGuess {
    /// Guesses a text's kinds by its form, or takes the given kind; `None` where it can't be an identifier.
    pub(crate) fn recognise(given: &str, given_kind: Option<NumberKind>) -> Option<Self> {
        let value = plain(given);
        let fits = |kinds: &[NumberKind]| -> Vec<NumberKind> {
            kinds.iter().copied().filter(|kind| kind.fits(value)).collect()
        };
        let (likely, possible) = if let Some(kind) = given_kind {
            (fits(&[kind]), Vec::new())
        } else if given.starts_with('+') {
            (fits(&[NumberKind::Msisdn]), Vec::new())
        } else if NumberKind::Iccid.fits(value) {
            (vec![NumberKind::Iccid], fits(&[NumberKind::Serial]))
        } else if NumberKind::Imsi.fits(value) {
            (vec![NumberKind::Imsi, NumberKind::Msisdn], fits(&[NumberKind::Serial]))
        } else if NumberKind::Serial.fits(value) {
            (vec![NumberKind::Serial], Vec::new())
        } else {
            (fits(&[NumberKind::Id]), Vec::new())
        };
        let (given, value) = (given.to_owned(), value.to_owned());
        (!likely.is_empty()).then_some(Self { given, value, likely, possible })
    }

    /// Whether the value has an IMEI's form, with its check digit.
    pub(crate) fn may_be_imei(&self) -> bool {
        let Some((digits, last)) = self.value.split_at_checked(14) else { return false };
        luhn_digit(digits).is_some_and(|digit| last.len() == 1 && last.starts_with(digit))
    }

    /// The possible kinds, for people.
    pub(crate) fn kind_names(&self) -> String {
        let all: Vec<_> =
            self.likely.iter().chain(&self.possible).map(|kind| kind.name()).collect();
        all.join(" or ")
    }
}

/// A number without a leading plus, or the `F` that fills a card number's last half byte.
fn plain(given: &str) -> &str {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(number) = given.strip_prefix('+').filter(|it| digits(it)) {
        return number;
    }
    match given.strip_suffix(['F', 'f']) {
        Some(card) if digits(card) && card.starts_with("89") => card,
        _ => given,
    }
}

/// The identifiers in a text: separated by line ends, commas, semicolons or spaces. A first line may name the column.
///
/// Labels group a number's digits. Groups that form an identifier only together are one identifier.
pub(crate) fn split(text: &str) -> Vec<String> {
    const NAMES: [&str; 8] =
        ["iccid", "imsi", "msisdn", "serial", "serialnumber", "id", "productid", "identifier"];
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let is_name = NAMES.contains(&first.trim().to_lowercase().replace([' ', '_'], "").as_str());
    let text = if is_name { rest } else { text };
    let parts = text.split(['\n', '\r', '\t', ',', ';']).map(|part| part.trim_matches(['"', ' ']));
    parts.filter(|part| !part.is_empty()).flat_map(split_part).collect()
}

fn split_part(part: &str) -> Vec<String> {
    let parts: Vec<String> = part.split_whitespace().map(str::to_owned).collect();
    let is_one = |text: &str| IdentifierGuess::recognise(text, None).is_some();
    let is_grouped =
        part.chars().all(|it| it.is_ascii_digit() || matches!(it, '+' | ' ' | 'F' | 'f'));
    let together = parts.concat();
    if parts.len() > 1 && is_grouped && !parts.iter().all(|it| is_one(it)) && is_one(&together) {
        vec![together]
    } else {
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_recognised_by_their_form() {
        use NumberKind::{Iccid, Id, Imsi, Msisdn, Serial};
        #[rustfmt::skip]
        let cases: [(&str, &str, &[NumberKind], &[NumberKind]); 10] = [
            // given                  // asked for             // likely         // perhaps
            ("8948692690826143258",   "8948692690826143258",   &[Iccid],         &[Serial]),
            ("8948692690826143258F",  "8948692690826143258",   &[Iccid],         &[Serial]),
            ("487016466663624",       "487016466663624",       &[Imsi, Msisdn],  &[Serial]),
            ("+4915112345678",        "4915112345678",         &[Msisdn],        &[]),
            ("12345",                 "12345",                 &[Serial],        &[]),
            ("1234567890123456789012","1234567890123456789012",&[Serial],        &[]),
            ("SL-DF-3043766-98743-73","SL-DF-3043766-98743-73",&[Serial],        &[]),
            ("ALPHA-0283b07ba8",      "ALPHA-0283b07ba8",      &[Id],            &[]),
            ("BETA_2-x-y",            "BETA_2-x-y",            &[Id],            &[]),
            ("890000",                "890000",                &[Imsi, Msisdn],  &[Serial]),
        ];
        for (given, value, likely, possible) in cases {
            let guess =
                IdentifierGuess::recognise(given, None).unwrap_or_else(|| panic!("{given}"));
            assert_eq!((guess.value.as_str(), &*guess.likely), (value, likely), "{given}");
            assert_eq!(guess.possible, possible, "{given}");
        }
        for nothing in
            ["", "1234", "+", "+abc", "pump-7", "alpha-1", "12345678901234567890123", "89x"]
        {
            assert_eq!(IdentifierGuess::recognise(nothing, None), None, "{nothing}");
        }
        let imei = |text| IdentifierGuess::recognise(text, None).unwrap().may_be_imei();
        assert_eq!((imei("864752047596813"), imei("864752047596814")), (true, false));
        let given_kind = IdentifierGuess::recognise("487016466663624", Some(Imsi)).unwrap();
        assert_eq!((given_kind.likely, given_kind.possible), (vec![Imsi], vec![]));
        assert_eq!(IdentifierGuess::recognise("ALPHA-1", Some(Iccid)), None);
    }

    #[test]
    fn texts_are_split_as_people_write_them() {
        assert_eq!(split("a, b;c\n\n\"d\"\te\r\n"), ["a", "b", "c", "d", "e"]);
        assert_eq!(split("ICCID\r\n1\r\n2\r\n"), ["1", "2"]);
        assert_eq!(split("12345"), ["12345"]);
        assert!(split(" \n ").is_empty());
        // Labels group digits.
        assert_eq!(
            split("+49 151 12345678\n8949 0200 0012 3456 789F"),
            ["+4915112345678", "8949020000123456789F"]
        );
        assert_eq!(
            split("260496931700685 487942498061999"),
            ["260496931700685", "487942498061999"]
        );
        assert_eq!(split("pump 7"), ["pump", "7"]);
    }
}
