//! Steps: paths as most manifests have them, which need no query. A step is much cheaper.

use std::ops::ControlFlow;

use serde_json::Value;

use super::json::{Json, JsonKind};

/// A step from a value to some of those in it.
#[derive(Clone, PartialEq)]
#[cfg_attr(test, derive(Debug))]
pub(super) enum Step {
    Name(String),
    Index(usize),
    /// Every member of a list or an object.
    Each,
    /// Members that one of the equalities holds for: `[?@.kind == 'iccid' || @.kind == 'ICCID']`.
    Matching(Vec<Equality>),
}

/// A value in a member, and the literal or the value of the whole document that it must be equal to.
#[derive(Clone, PartialEq)]
#[cfg_attr(test, derive(Debug))]
pub(super) struct Equality {
    place: Vec<Step>,
    with: Comparand,
}

#[derive(Clone, PartialEq)]
#[cfg_attr(test, derive(Debug))]
enum Comparand {
    Literal(Value),
    Place(Vec<Step>),
}

impl Step {
    /// Whether it leads to one place at most.
    pub(super) fn is_single(&self) -> bool {
        matches!(self, Self::Name(_) | Self::Index(_))
    }

    /// The steps of a path, if it has no others than these.
    pub(super) fn parse(path: &str) -> Option<Vec<Self>> {
        let mut rest = path.strip_prefix('$')?;
        let mut steps = Vec::new();
        while !rest.is_empty() {
            let (step, behind) = match rest.strip_prefix('.') {
                Some(behind) => {
                    let end = behind.find(['.', '[']).unwrap_or(behind.len());
                    let (name, behind) = behind.split_at(end);
                    (Self::dotted(name)?, behind)
                }
                None => {
                    let end = end_of_brackets(rest)?;
                    (Self::bracketed(&rest[1..end])?, &rest[end + 1..])
                }
            };
            steps.push(step);
            rest = behind;
        }
        Some(steps)
    }

    fn dotted(name: &str) -> Option<Self> {
        let is_plain = |it: char| it.is_alphanumeric() || it == '_';
        match name {
            "*" => Some(Self::Each),
            _ if !name.is_empty() && name.chars().all(is_plain) => Some(Self::Name(name.into())),
            _ => None,
        }
    }

    fn bracketed(inner: &str) -> Option<Self> {
        if inner == "*" {
            return Some(Self::Each);
        }
        if let Some(condition) = inner.strip_prefix('?') {
            let equalities = condition.split("||").map(Equality::parse);
            return equalities.collect::<Option<_>>().map(Self::Matching);
        }
        match inner.parse() {
            Ok(index) => Some(Self::Index(index)),
            Err(_) => quoted(inner).map(|it| Self::Name(it.to_owned())),
        }
    }

    fn parse_single(path: &str) -> Option<Vec<Self>> {
        Self::parse(path).filter(|steps| steps.iter().all(Self::is_single))
    }
}

impl Equality {
    fn parse(text: &str) -> Option<Self> {
        let (place, with) = text.split_once("==")?;
        let place = place.trim().strip_prefix('@')?;
        let with = with.trim();
        Some(Self {
            place: Step::parse_single(&format!("${place}"))?,
            with: match literal(with) {
                Some(literal) => Comparand::Literal(literal),
                None => Comparand::Place(Step::parse_single(with)?),
            },
        })
    }

    fn holds<T: Json>(&self, root: &T, member: &T) -> bool {
        let found = lead(&self.place, member);
        match &self.with {
            Comparand::Literal(literal) => found.is_some_and(|found| are_equal(found, literal)),
            Comparand::Place(place) => match (found, lead(place, root)) {
                (Some(one), Some(other)) => are_equal(one, other),
                // Nothing is equal to nothing (RFC 9535, 2.3.5.2.2).
                (one, other) => one.is_none() && other.is_none(),
            },
        }
    }
}

/// Visits the values that steps lead to from a value of a document, in its order, until the visitor breaks.
pub(super) fn visit<'t, T: Json, B>(
    steps: &[Step],
    root: &'t T,
    at: &'t T,
    visitor: &mut impl FnMut(&'t T) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let Some((step, further)) = steps.split_first() else { return visitor(at) };
    let mut visit_next = |next| visit(further, root, next, visitor);
    let is_meant = |member: &T| match step {
        Step::Matching(equalities) => equalities.iter().any(|it| it.holds(root, member)),
        _ => true,
    };
    match (step, at.kind()) {
        (Step::Name(name), _) => at.member(name).into_iter().try_for_each(visit_next),
        (Step::Index(index), JsonKind::List(members)) => {
            members.get(*index).map_or(ControlFlow::Continue(()), visit_next)
        }
        (Step::Each | Step::Matching(_), JsonKind::List(members)) => {
            members.iter().filter(|it| is_meant(it)).try_for_each(visit_next)
        }
        (Step::Each | Step::Matching(_), JsonKind::Object) => {
            let members = at.members().map(|(_, member)| member);
            members.filter(|it| is_meant(it)).try_for_each(&mut visit_next)
        }
        _ => ControlFlow::Continue(()),
    }
}

/// The value at a single place.
fn lead<'t, T: Json>(steps: &[Step], from: &'t T) -> Option<&'t T> {
    visit(steps, from, from, &mut ControlFlow::Break).break_value()
}

/// Equality of queries: numbers are compared as floats.
fn are_equal<T: Json + PartialEq<U>, U: Json>(one: &T, other: &U) -> bool {
    match (one.kind(), other.kind()) {
        (JsonKind::Number(one), JsonKind::Number(other)) => one.as_f64() == other.as_f64(),
        _ => *one == *other,
    }
}

/// A text, a number, a truth value or null.
fn literal(text: &str) -> Option<Value> {
    if let Some(text) = quoted(text) {
        return Some(text.into());
    }
    let literal = serde_json::from_str(text).ok();
    literal.filter(|it: &Value| it.is_number() || it.is_boolean() || it.is_null())
}

/// A quoted text without escapes.
fn quoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|it| ['\'', '"'].contains(it))?;
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    (!inner.contains(['\'', '"', '\\'])).then_some(inner)
}

/// Position of the bracket that closes the first one.
fn end_of_brackets(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0, None);
    for (at, it) in text.char_indices() {
        match (it, quote) {
            (it, Some(open)) if it == open => quote = None,
            (_, Some(_)) => {}
            ('\'' | '"', None) => quote = Some(it),
            ('[', None) => depth += 1,
            (']', None) if depth == 1 => return Some(at),
            (']', None) => depth -= 1,
            (_, None) if depth == 0 => return None,
            _ => {}
        }
    }
    None
}
