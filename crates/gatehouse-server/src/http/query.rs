//! The query of a request: parameters that are known, and the names of those that are not.
//!
//! What is unknown is ignored, as the contract says, and named in `X-Ignored-Params`; a client that
//! sends `Prefer: handling=strict` gets 400 instead.

use http::{HeaderMap, HeaderName};
use percent_encoding::percent_decode_str;

use super::problem::Problem;
use crate::reader::{Fault, shortened};

pub(crate) const X_IGNORED_PARAMS: HeaderName = HeaderName::from_static("x-ignored-params");

/// Ignored parameters that are named.
const NAMES_MAX: usize = 32;

/// The query of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    values: Vec<(&'static str, String)>,
    ignored: Vec<String>,
    faults: Vec<Fault>,
    /// The pieces as they were written, for links that keep them.
    pieces: Vec<(Option<&'static str>, String)>,
}

impl Query {
    pub(crate) fn parse(raw: &str, known: &[&'static str], headers: &HeaderMap) -> Self {
        let mut query = Self::default();
        for piece in raw.split('&').filter(|piece| !piece.is_empty()) {
            let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
            let name = decode(name);
            let known = known.iter().copied().find(|it| *it == name);
            query.pieces.push((known, piece.to_owned()));
            match known {
                None => query.ignored.push(name),
                Some(known) if query.value(known).is_some() => {
                    query.fault(known, "may be given only once".into());
                }
                Some(known) => query.values.push((known, decode(value))),
            }
        }
        if is_strict(headers) {
            for name in std::mem::take(&mut query.ignored) {
                query.fault(&shortened(&name), "is not a parameter of this operation".into());
            }
        }
        query
    }

    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(it, _)| *it == name).map(|(_, value)| value.as_str())
    }

    /// Adds what a handler finds wrong with a parameter.
    pub(crate) fn fault(&mut self, name: &str, reason: String) {
        if self.faults.len() < crate::reader::FAULTS_MAX {
            self.faults.push(Fault { name: name.to_owned(), reason });
        }
    }

    /// All faults at once, if there are any.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        if self.faults.is_empty() { Ok(()) } else { Err(Problem::invalid(self.faults.clone())) }
    }

    /// The pieces, as written, that are none of these parameters.
    pub(crate) fn without<'q>(&'q self, names: &'q [&str]) -> impl Iterator<Item = &'q str> {
        self.pieces
            .iter()
            .filter(|(known, _)| known.is_none_or(|known| !names.contains(&known)))
            .map(|(_, piece)| piece.as_str())
    }

    /// The names of what was ignored, as a header can hold them.
    pub(crate) fn ignored(&self) -> Option<String> {
        let names: Vec<String> = self.ignored.iter().take(NAMES_MAX).map(|it| shown(it)).collect();
        if names.is_empty() { None } else { Some(names.join(", ")) }
    }
}

fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn shown(name: &str) -> String {
    use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
    const UNFIT: &AsciiSet = &CONTROLS.add(b' ').add(b',').add(b'%').add(b'"');
    utf8_percent_encode(&shortened(name), UNFIT).to_string()
}

/// Whether the client prefers an error to being ignored.
fn is_strict(headers: &HeaderMap) -> bool {
    headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok()).any(|value| {
        value.split([',', ';']).any(|preference| {
            let preference: String =
                preference.chars().filter(|c| !c.is_whitespace() && *c != '"').collect();
            preference.eq_ignore_ascii_case("handling=strict")
        })
    })
}
