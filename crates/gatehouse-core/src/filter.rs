//! The filter language of lists.
//!
//! A raw query string is one expression:
//!
//! ```text
//! query       = alternative *( ";" alternative )    any of them
//! alternative = part *( "&" part )                all of them
//! part       = [ "filter=" ] condition
//! condition   = name operator value
//!             / name                              where the name alone says that an object has it
//! operator    = "=" / ">" / ">=" / "<" / "<="
//! ```
//!
//! Some names are parameters of the request (a page's number). They may stand anywhere and are no conditions. A name
//! outside [`FilterFields`], or an operator that the field doesn't have, is ignored and reported. An alternative
//! without conditions is dropped; without alternatives, everything passes.
//!
//! **Encoding.** The query is split at its raw `;` and `&` first; then each part is percent-decoded, once:
//! `username=A%26B` means `A&B`. The operator is the first one in the decoded part, so it may be encoded as a whole or
//! partly. A part without a raw `=` (after `filter=`) may be a whole expression that a client's library has encoded: it
//! is decoded once and parsed as an expression with raw operators. A `%` that begins no escape is literal, and so is a
//! `+`: in a request's query it means a space, and the server has replaced it before.

pub mod access;
pub mod product;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, percent_encode};

use crate::ids::LabelKey;

/// Most alternatives in one filter.
pub const ALTERNATIVES_MAX: usize = 32;

/// Most conditions in one filter, over all alternatives.
pub const CONDITIONS_MAX: usize = 64;

/// Fields and parameters that a list supports.
#[derive(Clone, Copy, Debug)]
pub struct FilterFields {
    /// Names of the request's parameters.
    pub request: &'static [&'static str],
    /// Fields that conditions may compare.
    pub filterable: &'static [FilterField],
}

/// A field that conditions may compare.
#[derive(Clone, Copy, Debug)]
pub struct FilterField {
    /// The field's name.
    pub name: &'static str,
    /// Short description.
    pub meaning: &'static str,
    /// Operators that the field supports.
    pub operators: &'static [Operator],
    /// Whether the name is matched case-insensitively.
    pub any_case: bool,
    /// The only values that the field can have; empty for a field of any text or time.
    pub words: &'static [&'static str],
    /// Whether a dot and a label's key follow the name: `label.site`.
    pub has_key: bool,
}

impl FilterField {
    /// A field whose name is case-sensitive.
    pub const fn exact(
        name: &'static str,
        meaning: &'static str,
        operators: &'static [Operator],
    ) -> Self {
        Self { name, meaning, operators, any_case: false, words: &[], has_key: false }
    }

    /// A field whose name is case-insensitive.
    pub const fn in_any_case(
        name: &'static str,
        meaning: &'static str,
        operators: &'static [Operator],
    ) -> Self {
        Self { any_case: true, ..Self::exact(name, meaning, operators) }
    }

    /// Whether this is the field's name, and the label's key in it.
    fn match_name(&self, name: &str) -> Option<Option<LabelKey>> {
        if self.has_key {
            let key = name.strip_prefix(self.name)?.strip_prefix('.')?;
            return key.parse().ok().map(Some);
        }
        let is_name = self.name == name || (self.any_case && self.name.eq_ignore_ascii_case(name));
        is_name.then_some(None)
    }

    /// The name in a query, with a placeholder for the key.
    fn shown(&self) -> String {
        if self.has_key { format!("{}.KEY", self.name) } else { self.name.into() }
    }
}

/// Comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `=`
    Equal,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// No operator: the object has any value.
    Present,
}

impl Operator {
    /// Every operator with characters, those of two first.
    pub const ALL: [Self; 5] =
        [Self::GreaterOrEqual, Self::LessOrEqual, Self::Equal, Self::Greater, Self::Less];

    /// The operator in a query.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Present => "",
        }
    }

    /// The longest operator at the start of a text.
    fn at_start_of(text: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|operator| text.starts_with(operator.as_str().as_bytes()))
    }
}

/// One comparison, which a listed object passes or fails.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Condition {
    /// Name of the field.
    pub name: &'static str,
    /// The label's key, for a field of labels.
    pub key: Option<LabelKey>,
    /// The operator.
    pub operator: Operator,
    /// The value to compare with.
    pub value: String,
}

/// Alternatives, each a list of conditions; without any, everything passes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// No alternative is empty.
    pub alternatives: Vec<Vec<Condition>>,
}

/// A condition that was ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredCondition {
    /// The name as the client wrote it.
    pub name: String,
    /// Why; continues after the name.
    pub reason: String,
}

/// A fault in a part of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterFault {
    /// The name at fault.
    pub name: String,
    /// Text that says what is wrong; continues after the name.
    pub reason: String,
}

/// A parsed query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expression {
    /// Condition for the listed objects.
    pub filter: Filter,
    /// Parameters of the request, in the query's order.
    pub request: Vec<(&'static str, String)>,
    /// Conditions that were ignored.
    pub ignored: Vec<IgnoredCondition>,
    /// Faults of the query. Use the filter only if there are none.
    pub faults: Vec<FilterFault>,
    /// Whether a separator or `filter=` stands without a condition beside it. A list ignores that.
    pub has_empty_part: bool,
    /// The query without the parameters of the request, as the client wrote it: for links to other pages.
    pub link_query: String,
}

impl Expression {
    /// Parses a raw query string. Never fails: [`Expression::faults`] has every fault.
    pub fn parse(raw: &str, fields: &FilterFields) -> Self {
        let mut parser = Parser::new(fields);
        for alternative in raw.split(';') {
            parser.begin_alternative();
            for part in alternative.split('&') {
                match part {
                    "" => parser.expression.has_empty_part = true,
                    part => parser.part(part),
                }
            }
        }
        parser.finish()
    }
}

impl Expression {
    /// Whether any condition compares a label.
    pub fn names_labels(&self) -> bool {
        self.filter.alternatives.iter().flatten().any(|condition| condition.key.is_some())
    }

    /// Whether there is no condition, so that everything passes.
    pub fn is_empty(&self) -> bool {
        self.filter.alternatives.is_empty()
    }

    /// Ignores the conditions on labels whose keys can't be filtered by.
    pub fn ignore_other_labels(&mut self, filterable: &BTreeSet<LabelKey>) {
        let Self { filter: Filter { alternatives }, ignored, .. } = self;
        for conditions in alternatives.iter_mut() {
            conditions.retain(|Condition { name, key, .. }| {
                let Some(key) = key.as_ref().filter(|key| !filterable.contains(*key)) else {
                    return true;
                };
                let known: Vec<&str> = filterable.iter().map(LabelKey::as_str).collect();
                let reason = match known.as_slice() {
                    [] => "can't be filtered by: the tenant has no `labelKeys`".to_owned(),
                    known => format!(
                        "can't be filtered by: the tenant's `labelKeys` are {}",
                        known.join(", ")
                    ),
                };
                ignored.push(IgnoredCondition { name: format!("{name}.{key}"), reason });
                false
            });
        }
        alternatives.retain(|conditions| !conditions.is_empty());
    }
}

/// Parser of a query.
struct Parser<'v> {
    fields: &'v FilterFields,
    expression: Expression,
    /// Separator before the next part of `link_query`; `None` at its start.
    separator: Option<char>,
}

/// One part of a query.
enum QueryPart {
    Nothing,
    Request(&'static str, String),
    Condition(Condition),
    Ignored(IgnoredCondition),
    Fault(FilterFault),
}

impl<'v> Parser<'v> {
    fn new(fields: &'v FilterFields) -> Self {
        Self { fields, expression: Expression::default(), separator: None }
    }

    fn begin_alternative(&mut self) {
        self.expression.filter.alternatives.push(Vec::new());
        if self.separator.is_some() {
            self.separator = Some(';');
        }
    }

    fn part(&mut self, raw: &str) {
        let bare = without_filter_name(raw.as_bytes());
        if bare.contains(&b'=') {
            if !self.take(bare) {
                self.keep(raw);
            }
            return;
        }
        // Perhaps a whole expression, which may have further alternatives.
        let decoded: Cow<'_, [u8]> = percent_decode(bare).into();
        let mut is_whole = true;
        let mut link_query: Vec<Vec<u8>> = Vec::new();
        for (n, alternative) in decoded.split(|byte| *byte == b';').enumerate() {
            if n > 0 {
                self.expression.filter.alternatives.push(Vec::new());
            }
            let mut parts: Vec<&[u8]> = alternative.split(|byte| *byte == b'&').collect();
            let n_parts = parts.len();
            parts.retain(|inner| !self.take(without_filter_name(inner)));
            is_whole &= parts.len() == n_parts;
            link_query.push(parts.join(&b'&'));
        }
        let link_query = link_query.join(&b';');
        if is_whole {
            self.keep(raw);
        } else if !link_query.is_empty() {
            self.keep(&format!("filter={}", encoded(&link_query)));
        }
    }

    /// Adds one condition to the expression; returns whether it was a parameter of the request.
    fn take(&mut self, text: &[u8]) -> bool {
        let expression = &mut self.expression;
        match read(text, self.fields) {
            QueryPart::Nothing => expression.has_empty_part = true,
            QueryPart::Request(name, value) => {
                expression.request.push((name, value));
                return true;
            }
            QueryPart::Condition(condition) => {
                let alternative = expression.filter.alternatives.last_mut();
                alternative.expect("every part is in an alternative").push(condition);
            }
            QueryPart::Ignored(ignored) => expression.ignored.push(ignored),
            QueryPart::Fault(fault) => expression.faults.push(fault),
        }
        false
    }

    fn keep(&mut self, raw: &str) {
        self.expression.link_query.extend(self.separator);
        self.expression.link_query.push_str(raw);
        self.separator = Some('&');
    }

    fn finish(mut self) -> Expression {
        let alternatives = &mut self.expression.filter.alternatives;
        alternatives.retain(|conditions| !conditions.is_empty());
        let n_conditions: usize = alternatives.iter().map(Vec::len).sum();
        for (what, n, max) in [
            ("alternatives", alternatives.len(), ALTERNATIVES_MAX),
            ("conditions", n_conditions, CONDITIONS_MAX),
        ] {
            if n > max {
                let reason = format!("may have at most {max} {what}, not {n}");
                self.expression.faults.push(FilterFault { name: "filter".into(), reason });
            }
        }
        self.expression
    }
}

/// Name that may precede any condition.
const FILTER: &[u8] = b"filter";

/// The part after `filter=`, or all of it.
fn without_filter_name(part: &[u8]) -> &[u8] {
    let name_bytes = part.iter().position(|byte| *byte == b'=').unwrap_or(part.len());
    let (name, rest) = part.split_at(name_bytes);
    if percent_decode(name).eq(FILTER.iter().copied()) {
        rest.get(1..).unwrap_or(b"")
    } else {
        part
    }
}

/// Parses one condition with a raw operator, or without an operator.
fn read(text: &[u8], fields: &FilterFields) -> QueryPart {
    if text.is_empty() {
        return QueryPart::Nothing;
    }
    let decoded: Cow<'_, [u8]> = percent_decode(text).into();
    // The `=` may be encoded as well, as any operator's.
    let decoded = without_filter_name(&decoded);
    let is_operator = |byte: &u8| b"=<>".contains(byte);
    let name_bytes = match decoded.iter().position(is_operator) {
        Some(position) if text.iter().any(is_operator) => position,
        _ => decoded.len(),
    };
    let (name, rest) = decoded.split_at(name_bytes);
    let name = String::from_utf8_lossy(name);
    let operator = Operator::at_start_of(rest);
    let value = &rest[operator.map_or(0, |operator| operator.as_str().len())..];

    let request = fields.request.iter().copied().find(|it| *it == name);
    // A parameter without an operator has an empty value.
    if let Some(request) = request
        && matches!(operator, None | Some(Operator::Equal))
    {
        return match std::str::from_utf8(value) {
            Ok(value) => QueryPart::Request(request, value.to_owned()),
            Err(_) => QueryPart::Fault(not_utf8(request.to_owned())),
        };
    }
    let named = fields.filterable.iter().find_map(|it| Some((it, it.match_name(&name)?)));
    let operator = match (&named, operator) {
        (Some((field, _)), None) if field.operators.contains(&Operator::Present) => {
            Some(Operator::Present)
        }
        (_, operator) => operator,
    };
    let ignored =
        |reason: String| QueryPart::Ignored(IgnoredCondition { name: name.to_string(), reason });
    match (named, operator) {
        (Some((field, key)), Some(operator)) if field.operators.contains(&operator) => {
            match std::str::from_utf8(value) {
                Ok(value) => QueryPart::Condition(Condition {
                    name: field.name,
                    key,
                    operator,
                    value: value.into(),
                }),
                Err(_) => QueryPart::Fault(not_utf8(name.into_owned())),
            }
        }
        (Some((field, _)), operator) => {
            let known = field.operators.iter().filter(|it| **it != Operator::Present);
            let known: Vec<&str> = known.map(|it| it.as_str()).collect();
            let known = known.join(" ");
            ignored(match operator {
                Some(operator) => {
                    format!("can't be compared with `{}`, only with {known}", operator.as_str())
                }
                None => format!("needs an operator ({known}) and a value"),
            })
        }
        (None, _) => {
            let names = fields.filterable.iter().map(FilterField::shown);
            let names: Vec<String> =
                names.chain(fields.request.iter().map(|it| (*it).into())).collect();
            ignored(format!("is not known here; known are {}", names.join(", ")))
        }
    }
}

fn not_utf8(name: String) -> FilterFault {
    FilterFault { name, reason: "must be UTF-8 once it is percent-decoded".into() }
}

/// Writes the filter as a query with the same meaning.
impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, alternative) in self.alternatives.iter().enumerate() {
            f.write_str(if n > 0 { ";" } else { "" })?;
            for (n, condition) in alternative.iter().enumerate() {
                write!(f, "{}{condition}", if n > 0 { "&" } else { "" })?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, key, operator, value } = self;
        let name = match key {
            Some(key) => format!("{name}.{key}"),
            None => (*name).to_owned(),
        };
        let value = encoded(value.as_bytes());
        match operator {
            Operator::Present => f.write_str(&name),
            Operator::Equal => write!(f, "{name}={value}"),
            Operator::GreaterOrEqual => write!(f, "{name}%3E={value}"),
            Operator::LessOrEqual => write!(f, "{name}%3C={value}"),
            // Without a raw `=` the server parses it as a whole expression, so it is encoded as one.
            Operator::Greater | Operator::Less => {
                f.write_str(&encoded(format!("{name}{}{value}", operator.as_str()).as_bytes()))
            }
        }
    }
}

/// Bytes with a meaning in a query: all but the unreserved ones (RFC 3986).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

fn encoded(bytes: &[u8]) -> String {
    percent_encode(bytes, RESERVED).to_string()
}

#[cfg(test)]
mod tests;
