//! Fuzz targets for this crate's parsers, and the properties that they check.
//!
//! The targets are here and not in `fuzz/`, because the parsers are private. A module that only tests and fuzzers
//! compile (`cfg(any(test, fuzzing))`) makes nothing public in the program, costs its build nothing, and lets the
//! ordinary tests run every seed. Every crate with parsers has such a module with its `TARGETS`.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use crate::contract::Validity;
use crate::filter::access::{self, AccessFilter};
use crate::filter::product::{self, ProductFilter};
use crate::filter::{Expression, FilterFields, Operator};
use crate::identifier::{key, luhn_digit};
use crate::ids::milliseconds_of;
use crate::rights::{parse_scopes, scopes_from_words, scopes_to_words};
use crate::time::span::TimeSpan;
use crate::time::zone::ZoneName;
use crate::*;

/// A fuzz target: its name, and its function of any bytes.
type Target = (&'static str, fn(&[u8]));

/// All fuzz targets of this crate.
pub const TARGETS: &[Target] = &[
    ("filter", |bytes| with_text(bytes, filter)),
    ("identifier", |bytes| with_text(bytes, identifier)),
    ("name", |bytes| with_text(bytes, name)),
    ("time", |bytes| with_text(bytes, time)),
];

fn with_text(bytes: &[u8], check: impl FnOnce(&str)) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        check(text);
    }
}

/// Any text is a query. Its meaning survives printing and links, for every list.
fn filter(query: &str) {
    let accesses = keeps_its_meaning(query, &access::FILTER_FIELDS);
    if let Ok(filter) = AccessFilter::read(&accesses) {
        assert!(filter.alternatives().len() <= crate::filter::ALTERNATIVES_MAX);
    }
    let _ = ProductFilter::read(&keeps_its_meaning(query, &product::FILTER_FIELDS));
}

fn keeps_its_meaning(query: &str, fields: &FilterFields) -> Expression {
    let expression = Expression::parse(query, fields);
    let text = expression.filter.to_string();
    let printed = Expression::parse(&text, fields);
    assert_eq!(printed.filter, expression.filter, "printed as {text:?}");
    assert!(printed.ignored.is_empty() && printed.request.is_empty(), "printed as {text:?}");
    assert!(text.bytes().all(|byte| byte.is_ascii_graphic() && !b"<>\"#".contains(&byte)));

    let link_query = Expression::parse(&expression.link_query, fields);
    assert_eq!(link_query.filter, expression.filter, "kept as {:?}", expression.link_query);
    assert!(link_query.request.is_empty(), "kept as {:?}", expression.link_query);
    let names = |it: &Expression| it.ignored.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&link_query), names(&expression), "kept as {:?}", expression.link_query);
    expression
}

/// An identifier keeps its spelling, and its key is the same with and without the check digit.
fn identifier(text: &str) {
    for kind in IdentifierKind::ALL {
        match Identifier::parse(kind, text) {
            Ok(identifier) => {
                assert_eq!(identifier.value(), text);
                assert_eq!(Identifier::given(kind, text), Ok(identifier.clone()));
                assert!(text.starts_with(identifier.key()));
                assert_eq!(key(kind, identifier.key()), identifier.key());
            }
            Err(bad) => assert!(bad.to_string().contains(kind.form())),
        }
        let _ = Identifier::given(kind, text);
    }
    if let Some(digit) = luhn_digit(text).filter(|_| text.len() == 19) {
        assert_eq!(key(IdentifierKind::Iccid, &format!("{text}{digit}")), text);
    }
}

/// Names and identifiers print as they were parsed, and respect their length limits.
fn name(text: &str) {
    for (n_chars_max, length) in [
        (ids::TENANT_CHARS_MAX, read_same::<TenantName>(text)),
        (ids::NAME_CHARS_MAX, read_same::<ContractId>(text)),
        (ids::NAME_CHARS_MAX, read_same::<Username>(text)),
        (ids::NAME_CHARS_MAX, read_same::<DeviceName>(text)),
        (ids::REQUEST_KEY_CHARS_MAX, read_same::<RequestKey>(text)),
        (ids::PLATFORM_CHARS_MAX, read_same::<PlatformName>(text)),
        (ids::CONNECTOR_CHARS_MAX, read_same::<ConnectorName>(text)),
        (36, read_same::<AccessId>(text)),
        (40, read_same::<TaskId>(text)),
        (ids::TENANT_CHARS_MAX + 1 + 64, read_same::<ClientId>(text)),
    ] {
        assert!(length.is_none_or(|n_chars| (1..=n_chars_max).contains(&n_chars)));
    }
    read_same::<ProductId>(text);
    let _ = milliseconds_of(text);
    if let Ok(scopes) = parse_scopes(text) {
        let words = scopes_to_words(&scopes);
        assert_eq!(parse_scopes(&words).as_ref(), Ok(&scopes));
        assert_eq!(scopes_from_words(text), scopes);
    }
}

/// Number of characters of a text that parses as `T` and prints unchanged.
fn read_same<T: FromStr + Display>(text: &str) -> Option<usize>
where
    T::Err: Display,
{
    match text.parse::<T>() {
        Ok(read) => {
            assert_eq!(read.to_string(), text);
            Some(text.chars().count())
        }
        Err(bad) => {
            assert!(!bad.to_string().is_empty());
            None
        }
    }
}

/// An instant survives printing and compares with itself; zones and validities keep their names.
fn time(text: &str) {
    let at = read_again::<Timestamp>(text);
    for operator in Operator::ALL {
        // An offset may lead out of the calendar: then the text can be compared with, and is no instant.
        let span = TimeSpan::satisfying(operator, text);
        if let (Some(at), Ok(span)) = (at, &span) {
            let includes = matches!(operator, Operator::GreaterOrEqual | Operator::LessOrEqual);
            // A text finer than a millisecond is after the instant that is kept of it.
            let is_whole =
                TimeSpan::satisfying(Operator::Equal, text).is_ok_and(|it| !it.is_empty());
            let expected = is_whole && (includes || operator == Operator::Equal)
                || !is_whole && matches!(operator, Operator::Less | Operator::LessOrEqual);
            assert_eq!(span.contains(at), expected, "{operator:?}");
        }
        assert!(at.is_none() || span.is_ok());
    }
    if let Ok(validity) = text.parse::<Validity>() {
        assert_eq!(validity.as_str(), text);
        let ends = validity.after(Timestamp::EPOCH);
        assert!(ends > Timestamp::EPOCH);
    }
    if let Ok(zone) = text.parse::<ZoneName>() {
        assert_eq!(zone.as_str().parse(), Ok(zone.clone()));
        assert!(zone.next_month(Timestamp::EPOCH) > Timestamp::EPOCH);
    }
}

/// Parses a text, and checks that the value survives printing.
fn read_again<T: FromStr + Display + Debug + PartialEq + Copy>(text: &str) -> Option<T>
where
    T::Err: Debug,
{
    let read = text.parse::<T>().ok()?;
    assert_eq!(read.to_string().parse::<T>().expect("a printed value parses"), read);
    Some(read)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_seed_of_the_fuzzer_passes() {
        gatehouse_testing::hold_seeds(super::TARGETS);
    }
}
