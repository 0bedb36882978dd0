//! The query of a request: its known parameters, a filter if the operation takes one, and the names of ignored
//! parameters.
//!
//! By the API's contract, unknown parameters are ignored. `X-Ignored-Params` names them; with `Prefer: handling=strict`
//! they are a 400.

use std::collections::BTreeSet;

use gatehouse_core::LabelKey;
use gatehouse_core::filter::{self, Expression, FilterFields, IgnoredCondition};
use gatehouse_core::list::request::ListOrder;
use http::{HeaderMap, HeaderName};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::http::answer::problem::Problem;
use crate::reader::{Fault, shortened};

pub(crate) const X_IGNORED_PARAMS: HeaderName = HeaderName::from_static("x-ignored-params");

pub(crate) const PAGE_NUMBER: &str = "pageNumber";
pub(crate) const PAGE_SIZE: &str = "pageSize";

/// The parameters that choose a page of a list.
pub(crate) const PAGE: &[&str] = &[PAGE_NUMBER, PAGE_SIZE];

/// Parameter: what a summary counts by.
pub(crate) const BY: &str = "by";

/// Parameter: the order of a list.
pub(crate) const SORT: &str = "sort";

/// Parameter: a position in a tenant's events.
pub(crate) const AFTER: &str = "after";

/// Value of [`AFTER`]: behind the last event.
pub(crate) const LAST: &str = "last";

/// Parameter: types of events.
pub(crate) const EVENT_TYPE: &str = "eventType";

/// Parameter: the subject of a token.
pub(crate) const SUBJECT: &str = "subject";

/// Parameters: the time of events.
pub(crate) const FROM: &str = "from";
pub(crate) const BEFORE: &str = "before";

/// Parameter: the text of a search.
pub(crate) const Q: &str = "q";

/// Parameter: the names of the fields to return, separated by commas.
pub(crate) const FIELDS: &str = "fields";

/// Value of [`FIELDS`] that selects no field.
pub(crate) const NO_FIELDS: &str = "none";

/// Characters that are percent-encoded in the value of a parameter.
const VALUE: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b',').remove(b'@');

/// Most ignored parameters that the header names.
const IGNORED_NAMES_MAX: usize = 32;

#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    values: Vec<(&'static str, String)>,
    ignored: Vec<String>,
    faults: Vec<Fault>,
    /// The filter expression, if the operation takes one.
    expression: Expression,
    /// The query without the page, for links to other pages.
    rest: String,
    /// Whether an unknown parameter is a fault.
    is_strict: bool,
    /// Whether the client can do without the total of a list.
    is_uncounted: bool,
}

impl Query {
    /// Parses a query: the `known` parameters, or, with `filter`, one filter expression.
    pub(crate) fn parse(
        raw: &str,
        known: &[&'static str],
        filter: Option<&FilterFields>,
        headers: &HeaderMap,
    ) -> Self {
        // HTTP libraries send `+` for a space. Escapes are decoded later, so a `+` from `%2B` stays.
        let raw = raw.replace('+', "%20");
        let mut query = Self {
            is_strict: prefers(headers, "handling", "strict"),
            is_uncounted: prefers(headers, "count", "none"),
            ..Self::default()
        };
        let ignored = match filter {
            Some(fields) => {
                query.expression = Expression::parse(&raw, fields);
                query.rest.clone_from(&query.expression.link_query);
                for (name, value) in std::mem::take(&mut query.expression.request) {
                    if !PAGE.contains(&name) {
                        query.append_to_rest(name, &value);
                    }
                    query.add(name, value);
                }
                std::mem::take(&mut query.expression.ignored)
            }
            None => query.read_plain(&raw, known),
        };
        ignored.into_iter().for_each(|it| query.ignore_condition(it));
        query
    }

    /// Treats each field name that isn't in `known` like an unknown parameter.
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
            self.ignore(&name, String::new());
        }
    }

    /// The order of a list. An unknown one is treated like an unknown parameter.
    pub(crate) fn order(&mut self) -> ListOrder {
        let Some(word) = self.value(SORT) else { return ListOrder::default() };
        if let Some(order) = ListOrder::from_word(word) {
            return order;
        }
        let reason =
            format!("must be {}, not `{}`", ListOrder::WORDS.join(" or "), shortened(word));
        self.ignore(SORT, reason);
        ListOrder::default()
    }

    /// Whether the client can do without the total of a list.
    pub(crate) fn is_uncounted(&self) -> bool {
        self.is_uncounted
    }

    /// Whether the filter compares labels.
    pub(crate) fn names_labels(&self) -> bool {
        self.expression.names_labels()
    }

    /// Treats each condition on a label that can't be filtered by like an unknown parameter.
    pub(crate) fn check_labels(&mut self, filterable: &BTreeSet<LabelKey>) {
        self.expression.ignore_other_labels(filterable);
        for ignored in std::mem::take(&mut self.expression.ignored) {
            self.ignore_condition(ignored);
        }
    }

    fn ignore_condition(&mut self, IgnoredCondition { name, reason }: IgnoredCondition) {
        self.ignore(&name, reason);
    }

    /// Ignores a parameter, or a value that it can't have, and names it to the client.
    pub(crate) fn ignore(&mut self, name: &str, reason: String) {
        if self.is_strict {
            self.fault(&shortened(name), reason);
        } else if self.ignored.len() <= IGNORED_NAMES_MAX
            && !self.ignored.iter().any(|it| it == name)
        {
            self.ignored.push(name.to_owned());
        }
    }

    /// Parses a query of parameters without a filter; returns the unknown ones.
    fn read_plain(&mut self, raw: &str, known: &[&'static str]) -> Vec<IgnoredCondition> {
        let mut ignored = Vec::new();
        let mut rest = Vec::new();
        for piece in raw.split('&').filter(|piece| !piece.is_empty()) {
            let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
            let name = decode(name);
            let known = known.iter().copied().find(|it| *it == name);
            if known.is_none_or(|known| !PAGE.contains(&known)) {
                rest.push(piece);
            }
            match known {
                Some(known) => {
                    if percent_decode_str(value).decode_utf8().is_err() {
                        self.fault(known, "must be UTF-8 once it is percent-decoded".into());
                    }
                    self.add(known, decode(value));
                }
                None => {
                    let reason = "is not a parameter of this operation".into();
                    ignored.push(IgnoredCondition { name, reason });
                }
            }
        }
        self.rest = rest.join("&");
        ignored
    }

    /// Appends a parameter to the query for links. Its position has no meaning.
    fn append_to_rest(&mut self, name: &str, value: &str) {
        let separator = if self.rest.is_empty() { "" } else { "&" };
        self.rest += &format!("{separator}{name}={}", utf8_percent_encode(value, VALUE));
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

    /// The filter as `read` parses it; `None` if it has faults, which are added to the query's.
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

    pub(crate) fn fault(&mut self, name: &str, reason: String) {
        if self.faults.len() < crate::reader::FAULTS_MAX {
            self.faults.push(Fault { name: name.to_owned(), reason });
        }
    }

    /// Fails with all faults at once.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        if self.faults.is_empty() { Ok(()) } else { Err(Problem::invalid(self.faults.clone())) }
    }

    pub(crate) fn without_page(&self) -> &str {
        &self.rest
    }

    /// The names of ignored parameters as a header value.
    pub(crate) fn ignored(&self) -> Option<String> {
        let mut names: Vec<String> =
            self.ignored.iter().take(IGNORED_NAMES_MAX).map(|it| as_header_text(it)).collect();
        if self.ignored.len() > IGNORED_NAMES_MAX {
            names.push("...".into());
        }
        if names.is_empty() { None } else { Some(names.join(", ")) }
    }
}

pub(crate) fn field_names(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|name| !name.is_empty())
}

fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn as_header_text(name: &str) -> String {
    use percent_encoding::CONTROLS;
    const NOT_IN_HEADER: &AsciiSet = &CONTROLS.add(b' ').add(b',').add(b'%').add(b'"');
    // A value without a name.
    let name = if name.is_empty() { "=" } else { name };
    utf8_percent_encode(&shortened(name), NOT_IN_HEADER).to_string()
}

/// Whether the client prefers this. Of several preferences with a name, the first counts (RFC 7240).
fn prefers(headers: &HeaderMap, preference: &str, wanted: &str) -> bool {
    let values = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    let preferences = values.flat_map(|value| value.split([',', ';'])).map(|preference| {
        preference.chars().filter(|c| !c.is_whitespace() && *c != '"').collect::<String>()
    });
    let mut named = preferences.filter_map(|it| {
        let (name, value) = it.split_once('=')?;
        name.eq_ignore_ascii_case(preference).then(|| value.to_owned())
    });
    named.next().is_some_and(|value| value.eq_ignore_ascii_case(wanted))
}
