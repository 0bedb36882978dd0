//! The filter language of lists.
//!
//! A raw query string is one expression:
//!
//! ```text
//! query       = alternative *( ";" alternative )    any of them
//! alternative = piece *( "&" piece )                all of them
//! piece       = [ "filter=" ] condition
//! condition   = name operator value
//! operator    = "=" / ">" / ">=" / "<" / "<="
//! ```
//!
//! Some names are parameters of the request itself (a page's number). They may stand anywhere and are
//! no conditions. A name that the [`FilterFields`] doesn't know, or an operator that a name doesn't
//! have, is ignored as if it were not written, and reported. An alternative that is left without a
//! condition is dropped; where none is left, everything passes.
//!
//! **Encoding.** The query is split at its raw `;` and `&` first, and then each piece is
//! percent-decoded, once: `username=A%26B` asks for `A&B`. The operator is the first one in the decoded
//! piece, so it may be encoded whole or in part. A piece without a raw `=` (behind `filter=`) may be a
//! whole expression that a client's library has encoded: it is decoded and read as if it stood there
//! raw. That happens once. What comes out of it must have its operators raw. A `%` that begins no
//! escape is itself, and so is a `+`: in the query of a request it means a space, which the server has
//! turned it into before.

pub mod access;
pub mod product;

use std::borrow::Cow;
use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, percent_encode};

/// Most alternatives in one filter.
pub const ALTERNATIVES_MAX: usize = 32;

/// Most conditions in one filter, over all alternatives.
pub const CONDITIONS_MAX: usize = 64;

/// What a list understands.
#[derive(Clone, Copy, Debug)]
pub struct FilterFields {
    /// The parameters of the request itself.
    pub request: &'static [&'static str],
    /// What can be asked of the things that are listed.
    pub words: &'static [FilterField],
}

/// A name that conditions may be about.
#[derive(Clone, Copy, Debug)]
pub struct FilterField {
    /// The name.
    pub name: &'static str,
    /// What it is, in a few words.
    pub meaning: &'static str,
    /// How its values can be compared.
    pub operators: &'static [Operator],
    /// Whether it may be written in upper and lower case alike.
    pub any_case: bool,
}

impl FilterField {
    /// A name that is written exactly so.
    pub const fn exact(
        name: &'static str,
        meaning: &'static str,
        operators: &'static [Operator],
    ) -> Self {
        Self { name, meaning, operators, any_case: false }
    }

    /// A name that may be written in upper and lower case alike.
    pub const fn in_any_case(
        name: &'static str,
        meaning: &'static str,
        operators: &'static [Operator],
    ) -> Self {
        Self { name, meaning, operators, any_case: true }
    }

    fn is_called(&self, name: &str) -> bool {
        self.name == name || (self.any_case && self.name.eq_ignore_ascii_case(name))
    }
}

/// How a value is compared.
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
}

impl Operator {
    /// Every operator, those of two characters first.
    pub const ALL: [Self; 5] =
        [Self::GreaterOrEqual, Self::LessOrEqual, Self::Equal, Self::Greater, Self::Less];

    /// The operator as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
        }
    }

    /// The longest operator that a text begins with.
    fn at_start_of(text: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|operator| text.starts_with(operator.as_str().as_bytes()))
    }
}

/// One comparison that a thing passes or fails.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Condition {
    /// What it is about: a name of the vocabulary.
    pub name: &'static str,
    /// How it compares.
    pub operator: Operator,
    /// With what.
    pub value: String,
}

/// Alternatives, each a list of conditions; without any, everything passes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// None of them is empty.
    pub alternatives: Vec<Vec<Condition>>,
}

/// Something in a query that was not taken into account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredCondition {
    /// The name as it was written.
    pub name: String,
    /// Why; reads on after the name.
    pub reason: String,
}

/// What is wrong with a part of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterFault {
    /// The name that it is about.
    pub name: String,
    /// What is wrong; reads on after the name.
    pub reason: String,
}

/// What a query says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expression {
    /// Which things are wanted.
    pub filter: Filter,
    /// Parameters of the request, in the order in which they stand there.
    pub request: Vec<(&'static str, String)>,
    /// What was ignored.
    pub ignored: Vec<IgnoredCondition>,
    /// What is wrong with it. The filter may be used only when nothing is.
    pub faults: Vec<FilterFault>,
    /// The query without the parameters of the request, as it was written: for links to other pages.
    pub kept: String,
}

impl Expression {
    /// Reads a raw query string. Never fails: whatever is wrong is in [`Expression::faults`].
    pub fn parse(raw: &str, vocabulary: &FilterFields) -> Self {
        let mut reading = Reading::new(vocabulary);
        for alternative in raw.split(';') {
            reading.begin_alternative();
            for piece in alternative.split('&').filter(|piece| !piece.is_empty()) {
                reading.piece(piece);
            }
        }
        reading.finish()
    }
}

/// A query, half read.
struct Reading<'v> {
    vocabulary: &'v FilterFields,
    expression: Expression,
    /// Whether what comes next in `kept` begins an alternative, or follows within one.
    separator: Option<char>,
}

/// What one condition turned out to be.
enum Piece {
    Nothing,
    Request(&'static str, String),
    Condition(Condition),
    Ignored(IgnoredCondition),
    Fault(FilterFault),
}

impl<'v> Reading<'v> {
    fn new(vocabulary: &'v FilterFields) -> Self {
        Self { vocabulary, expression: Expression::default(), separator: None }
    }

    fn begin_alternative(&mut self) {
        self.expression.filter.alternatives.push(Vec::new());
        if self.separator.is_some() {
            self.separator = Some(';');
        }
    }

    fn piece(&mut self, raw: &str) {
        let bare = without_filter_name(raw.as_bytes());
        if bare.contains(&b'=') {
            if !self.take(bare) {
                self.keep(raw);
            }
            return;
        }
        // A whole expression, perhaps. It may hold further alternatives.
        let decoded: Cow<'_, [u8]> = percent_decode(bare).into();
        let mut is_whole = true;
        let mut kept: Vec<Vec<u8>> = Vec::new();
        for (n, alternative) in decoded.split(|byte| *byte == b';').enumerate() {
            if n > 0 {
                self.expression.filter.alternatives.push(Vec::new());
            }
            let mut pieces: Vec<&[u8]> = alternative.split(|byte| *byte == b'&').collect();
            let n_pieces = pieces.len();
            pieces.retain(|inner| !self.take(without_filter_name(inner)));
            is_whole &= pieces.len() == n_pieces;
            kept.push(pieces.join(&b'&'));
        }
        let kept = kept.join(&b';');
        if is_whole {
            self.keep(raw);
        } else if !kept.is_empty() {
            self.keep(&format!("filter={}", encoded(&kept)));
        }
    }

    /// Takes one condition in; true when it was a parameter of the request.
    fn take(&mut self, text: &[u8]) -> bool {
        let expression = &mut self.expression;
        match read(text, self.vocabulary) {
            Piece::Nothing => {}
            Piece::Request(name, value) => {
                expression.request.push((name, value));
                return true;
            }
            Piece::Condition(condition) => {
                let alternative = expression.filter.alternatives.last_mut();
                alternative.expect("every piece stands in an alternative").push(condition);
            }
            Piece::Ignored(ignored) => expression.ignored.push(ignored),
            Piece::Fault(fault) => expression.faults.push(fault),
        }
        false
    }

    fn keep(&mut self, raw: &str) {
        self.expression.kept.extend(self.separator);
        self.expression.kept.push_str(raw);
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

/// The name that may stand before any condition.
const FILTER: &[u8] = b"filter";

/// What is behind `filter=`, or all of it.
fn without_filter_name(piece: &[u8]) -> &[u8] {
    let name_bytes = piece.iter().position(|byte| *byte == b'=').unwrap_or(piece.len());
    let (name, rest) = piece.split_at(name_bytes);
    if percent_decode(name).eq(FILTER.iter().copied()) {
        rest.get(1..).unwrap_or(b"")
    } else {
        piece
    }
}

/// Reads one condition whose operator stands there raw, or one without an operator.
fn read(text: &[u8], vocabulary: &FilterFields) -> Piece {
    if text.is_empty() {
        return Piece::Nothing;
    }
    let decoded: Cow<'_, [u8]> = percent_decode(text).into();
    // Its `=` may be encoded as well, as any operator's.
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

    let request = vocabulary.request.iter().copied().find(|it| *it == name);
    // A parameter that stands alone has an empty value.
    if let Some(request) = request
        && matches!(operator, None | Some(Operator::Equal))
    {
        return Piece::Request(request, String::from_utf8_lossy(value).into_owned());
    }
    let word = vocabulary.words.iter().find(|word| word.is_called(&name));
    let ignored =
        |reason: String| Piece::Ignored(IgnoredCondition { name: name.to_string(), reason });
    match (word, operator) {
        (Some(word), Some(operator)) if word.operators.contains(&operator) => {
            match std::str::from_utf8(value) {
                Ok(value) => {
                    Piece::Condition(Condition { name: word.name, operator, value: value.into() })
                }
                Err(_) => Piece::Fault(FilterFault {
                    name: word.name.into(),
                    reason: "must be UTF-8 once it is percent-decoded".into(),
                }),
            }
        }
        (Some(word), operator) => {
            let known: Vec<&str> = word.operators.iter().map(|it| it.as_str()).collect();
            let known = known.join(" ");
            ignored(match operator {
                Some(operator) => {
                    format!("can't be compared with `{}`, only with {known}", operator.as_str())
                }
                None => format!("needs an operator ({known}) and a value"),
            })
        }
        (None, _) => {
            let names = vocabulary.words.iter().map(|word| word.name);
            let names: Vec<&str> = names.chain(vocabulary.request.iter().copied()).collect();
            ignored(format!("is not known here; known are {}", names.join(", ")))
        }
    }
}

/// Writes the filter as a query that says the same.
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
        let Self { name, operator, value } = self;
        let value = encoded(value.as_bytes());
        match operator {
            Operator::Equal => write!(f, "{name}={value}"),
            Operator::GreaterOrEqual => write!(f, "{name}%3E={value}"),
            Operator::LessOrEqual => write!(f, "{name}%3C={value}"),
            // Without a raw `=` it is read as a whole expression, so it is encoded as one.
            Operator::Greater | Operator::Less => {
                f.write_str(&encoded(format!("{name}{}{value}", operator.as_str()).as_bytes()))
            }
        }
    }
}

/// What has no meaning of its own in a query (RFC 3986, unreserved).
const MEANINGFUL: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

fn encoded(bytes: &[u8]) -> String {
    percent_encode(bytes, MEANINGFUL).to_string()
}

#[cfg(test)]
mod tests;
