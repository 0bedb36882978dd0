//! The query of a request: parameters that are known, a filter where the operation takes one, and the
//! names of what was ignored.
//!
//! What is unknown is ignored, as the contract says, and named in `X-Ignored-Params`; a client that
//! sends `Prefer: handling=strict` gets 400 instead.

use gatehouse_core::filter::{self, Expression, FilterFields, IgnoredCondition};
use http::{HeaderMap, HeaderName};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::http::answer::problem::Problem;
use crate::reader::{Fault, shortened};

pub(crate) const X_IGNORED_PARAMS: HeaderName = HeaderName::from_static("x-ignored-params");

/// Which page of a list is asked for.
pub(crate) const PAGE_NUMBER: &str = "pageNumber";

/// How long its pages are to be.
pub(crate) const PAGE_SIZE: &str = "pageSize";

/// The parameters that choose a page of a list.
pub(crate) const PAGE: &[&str] = &[PAGE_NUMBER, PAGE_SIZE];

/// Which fields of things are to be shown: their names, with commas between them.
pub(crate) const FIELDS: &str = "fields";

/// Stands for no fields, alone.
pub(crate) const NO_FIELDS: &str = "none";

/// What must be encoded in the value of a parameter.
const VALUE: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b',').remove(b'@');

/// Ignored parameters that are named.
const NAMES_MAX: usize = 32;

/// The query of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    values: Vec<(&'static str, String)>,
    ignored: Vec<String>,
    faults: Vec<Fault>,
    /// What the request says beside its parameters, where the operation takes a filter.
    expression: Expression,
    /// All of it but for the page, for links to other pages.
    kept: String,
    /// Whether the client wants a fault for what would be ignored.
    is_strict: bool,
}

impl Query {
    /// Reads a query of parameters that are `known`, or, where there is a vocabulary, of one expression.
    pub(crate) fn parse(
        raw: &str,
        known: &[&'static str],
        filter: Option<&FilterFields>,
        headers: &HeaderMap,
    ) -> Self {
        // What HTTP libraries send for a space. Escapes are read after that, so a `+` out of `%2B` stays.
        let raw = raw.replace('+', "%20");
        let mut query = Self { is_strict: is_strict(headers), ..Self::default() };
        let ignored = match filter {
            Some(vocabulary) => {
                query.expression = Expression::parse(&raw, vocabulary);
                query.kept.clone_from(&query.expression.kept);
                for (name, value) in std::mem::take(&mut query.expression.request) {
                    if !PAGE.contains(&name) {
                        query.keep(name, &value);
                    }
                    query.add(name, value);
                }
                std::mem::take(&mut query.expression.ignored)
            }
            None => query.read_plain(&raw, known),
        };
        ignored.into_iter().for_each(|it| query.ignore(it));
        query
    }

    /// Takes a name of a field that nothing has for something to be ignored; `known` are the others.
    pub(crate) fn check_fields(&mut self, known: &[&str]) {
        let names: Vec<&str> = self.value(FIELDS).into_iter().flat_map(field_names).collect();
        if names == [NO_FIELDS] {
            return;
        }
        let unknown = names.into_iter().filter(|name| !known.contains(name));
        let unknown: Vec<String> = unknown.map(str::to_owned).collect();
        if self.is_strict && !unknown.is_empty() {
            let names = shortened(&unknown.join(", "));
            let reason = format!("must hold {}, and holds {names}", known.join(", "));
            return self.fault(FIELDS, reason);
        }
        for name in unknown {
            self.ignore(IgnoredCondition { name, reason: String::new() });
        }
    }

    fn ignore(&mut self, IgnoredCondition { name, reason }: IgnoredCondition) {
        if self.is_strict {
            self.fault(&shortened(&name), reason);
        } else if self.ignored.len() <= NAMES_MAX && !self.ignored.contains(&name) {
            self.ignored.push(name);
        }
    }

    /// Reads a query that is nothing but parameters.
    fn read_plain(&mut self, raw: &str, known: &[&'static str]) -> Vec<IgnoredCondition> {
        let mut ignored = Vec::new();
        let mut kept = Vec::new();
        for piece in raw.split('&').filter(|piece| !piece.is_empty()) {
            let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
            let name = decode(name);
            let known = known.iter().copied().find(|it| *it == name);
            if known.is_none_or(|known| !PAGE.contains(&known)) {
                kept.push(piece);
            }
            match known {
                Some(known) => self.add(known, decode(value)),
                None => {
                    let reason = "is not a parameter of this operation".into();
                    ignored.push(IgnoredCondition { name, reason });
                }
            }
        }
        self.kept = kept.join("&");
        ignored
    }

    /// Keeps a parameter for links. It may stand anywhere, so it stands at the end.
    fn keep(&mut self, name: &str, value: &str) {
        let separator = if self.kept.is_empty() { "" } else { "&" };
        self.kept += &format!("{separator}{name}={}", utf8_percent_encode(value, VALUE));
    }

    fn add(&mut self, name: &'static str, value: String) {
        if self.value(name).is_some() {
            self.fault(name, "may be given only once".into());
        } else {
            self.values.push((name, value));
        }
    }

    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(it, _)| *it == name).map(|(_, value)| value.as_str())
    }

    /// The filter, as `read` reads it; where that finds faults they are added, and there is none.
    pub(crate) fn filter<T>(
        &mut self,
        read: impl FnOnce(&Expression) -> Result<T, Vec<filter::FilterFault>>,
    ) -> Option<T> {
        read(&self.expression)
            .map_err(|faults| {
                for filter::FilterFault { name, reason } in faults {
                    self.fault(&name, reason);
                }
            })
            .ok()
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

    /// The query as it was written, but for the page.
    pub(crate) fn without_page(&self) -> &str {
        &self.kept
    }

    /// The names of what was ignored, as a header can hold them.
    pub(crate) fn ignored(&self) -> Option<String> {
        let mut names: Vec<String> =
            self.ignored.iter().take(NAMES_MAX).map(|it| shown(it)).collect();
        if self.ignored.len() > NAMES_MAX {
            names.push("...".into());
        }
        if names.is_empty() { None } else { Some(names.join(", ")) }
    }
}

/// The names in the value of [`FIELDS`].
pub(crate) fn field_names(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|name| !name.is_empty())
}

fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn shown(name: &str) -> String {
    use percent_encoding::CONTROLS;
    const UNFIT: &AsciiSet = &CONTROLS.add(b' ').add(b',').add(b'%').add(b'"');
    // A value without a name has to be called something.
    let name = if name.is_empty() { "=" } else { name };
    utf8_percent_encode(&shortened(name), UNFIT).to_string()
}

/// Whether the client prefers an error to being ignored. Of several preferences, the first counts.
fn is_strict(headers: &HeaderMap) -> bool {
    let values = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    let preferences = values.flat_map(|value| value.split([',', ';'])).map(|preference| {
        preference.chars().filter(|c| !c.is_whitespace() && *c != '"').collect::<String>()
    });
    let mut handling = preferences.filter_map(|preference| {
        let (name, value) = preference.split_once('=')?;
        name.eq_ignore_ascii_case("handling").then(|| value.to_ascii_lowercase())
    });
    handling.next().is_some_and(|value| value == "strict")
}
