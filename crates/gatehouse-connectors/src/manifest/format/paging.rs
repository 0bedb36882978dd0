//! Paging of a platform's lists.

use std::borrow::Cow;

use http::HeaderMap;
use http::header::LINK;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use super::condition::Condition;
use super::path::{Json, Path, text_of};
use super::source::Source;
use crate::connector::{self, PagingMethod};

/// How lists are paged. Every call with `{page.…}` is paged: the list, look-ups, details.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Paging {
    /// How to get from page to page.
    pub(crate) by: PagingBy,
    /// Number of the first page, for paging by number: 1 by default.
    #[serde(default)]
    pub(crate) first: Option<u64>,
    /// Page sizes.
    pub(crate) size: PageSize,
    /// Path to the total number of connections in a page.
    #[serde(default)]
    pub(crate) total: Option<Source>,
    /// Condition on the body of the last page.
    #[serde(default)]
    pub(crate) last: Option<Condition>,
    /// Cursor or link of the next page, for paging by cursor.
    #[serde(default)]
    pub(crate) next: Option<Next>,
    /// Value of `{page.cursor}` on the first page, if it must not be left out.
    #[serde(default)]
    pub(crate) first_mark: Option<String>,
    /// Whether a page shorter than requested is surely the last one.
    #[serde(default)]
    pub(crate) ends_short: bool,
}

/// How to get from page to page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum PagingBy {
    /// By page number: `{page.number}`.
    Number,
    /// By the number of connections before the page: `{page.offset}`.
    Offset,
    /// By a cursor that the page before gave: `{page.cursor}`, or a link that is followed.
    Cursor,
}

/// Page sizes: `fixed`, or up to `max`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct PageSize {
    /// Largest page.
    #[serde(default)]
    pub(crate) max: Option<u32>,
    /// Smallest page.
    #[serde(default)]
    pub(crate) min: Option<u32>,
    /// The only page size.
    #[serde(default)]
    pub(crate) fixed: Option<u32>,
}

/// Source of the next page's cursor or link. If missing, null or empty, there is no next page.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Next {
    /// A cursor in the body, for `{page.cursor}`.
    Body(Path),
    /// A cursor in a header, for `{page.cursor}`.
    Header(String),
    /// A URL in the body, which is followed. It must stay on the platform's origin.
    Url(Path),
    /// A URL in the header `Link` with this relation (RFC 8288), which is followed.
    Link(String),
    /// A cursor in the last connection of the page, for `{page.cursor}`.
    LastItem(Path),
}

/// Largest page size of a platform.
pub(in crate::manifest) const SIZE_MAX: u32 = 10_000;

impl Paging {
    /// Whether the next page is a link to follow.
    pub(crate) fn follows_links(&self) -> bool {
        matches!(self.next, Some(Next::Url(_) | Next::Link(_)))
    }

    /// Number of the first page.
    pub(crate) fn first(&self) -> u64 {
        self.first.unwrap_or(1)
    }

    /// The paging as the engine knows it.
    pub(crate) fn capabilities(&self) -> connector::Paging {
        let (size_min, size_max) = self.size.bounds();
        connector::Paging {
            steps: match self.by {
                PagingBy::Number => PagingMethod::Numbered,
                PagingBy::Offset => PagingMethod::Offset,
                PagingBy::Cursor => PagingMethod::Cursor,
            },
            size_min,
            size_max,
            tells_total: self.total.is_some() && self.by != PagingBy::Cursor,
            ends_short: self.ends_short,
        }
    }

    /// Total number of connections, if the page gives it.
    pub(crate) fn total(&self, headers: &HeaderMap, body: &impl Json) -> Option<u64> {
        self.total.as_ref()?.text(headers, body)?.trim().parse().ok()
    }

    /// Whether a page says that it is the last.
    pub(crate) fn is_last(&self, body: &impl Json) -> bool {
        self.last.as_ref().is_some_and(|it| it.holds(None, body))
    }
}

impl PageSize {
    /// Smallest and largest page size.
    pub(crate) fn bounds(self) -> (u32, u32) {
        match self.fixed {
            Some(fixed) => (fixed, fixed),
            None => (self.min.unwrap_or(1), self.max.unwrap_or(1)),
        }
    }

    pub(in crate::manifest) fn fault(self) -> Option<String> {
        let is_size = |it: Option<u32>| it.is_none_or(|it| (1..=SIZE_MAX).contains(&it));
        if !is_size(self.max) || !is_size(self.min) || !is_size(self.fixed) {
            return Some(format!("must be sizes from 1 to {SIZE_MAX}"));
        }
        match (self.fixed, self.max, self.min) {
            (Some(_), None, None) => None,
            (Some(_), _, _) => Some("has `fixed`, and then neither `max` nor `min`".into()),
            (None, None, _) => Some("must have `max`, or `fixed`".into()),
            (None, Some(max), Some(min)) if min > max => {
                Some(format!("has `min` {min}, which is more than `max` {max}"))
            }
            (None, Some(_), _) => None,
        }
    }
}

/// Cursor or link of the next page, taken from a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NextPage {
    /// A cursor.
    Cursor(String),
    /// A link to follow.
    Link(String),
}

impl Next {
    /// Finds what leads to the next page.
    pub(crate) fn next_page<T: Json>(
        &self,
        headers: &HeaderMap,
        body: &T,
        last_item: Option<&T>,
    ) -> Option<NextPage> {
        let text = |value: Option<&T>| {
            value.and_then(text_of).filter(|it| !it.is_empty()).map(Cow::into_owned)
        };
        match self {
            Self::Body(path) => text(path.first(body)).map(NextPage::Cursor),
            Self::Header(name) => {
                let value = headers.get(name)?.to_str().ok()?;
                (!value.is_empty()).then(|| NextPage::Cursor(value.to_owned()))
            }
            Self::Url(path) => text(path.first(body)).map(NextPage::Link),
            Self::Link(relation) => link(headers, relation).map(NextPage::Link),
            Self::LastItem(path) => {
                text(last_item.and_then(|it| path.first(it))).map(NextPage::Cursor)
            }
        }
    }
}

/// URL with a relation in the `Link` headers (RFC 8288).
pub(in crate::manifest) fn link(headers: &HeaderMap, relation: &str) -> Option<String> {
    let texts = headers.get_all(LINK).iter().filter_map(|it| it.to_str().ok());
    texts
        .flat_map(links)
        .find(|(_, it)| it.iter().any(|it| it.eq_ignore_ascii_case(relation)))
        .map(|(url, _)| url)
}

/// URLs of a `Link` header, each with its relations.
pub(in crate::manifest) fn links(text: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once('<') {
        let Some((url, parameters)) = behind.split_once('>') else { break };
        // The next URL begins behind a comma.
        let (own, others) = split_unquoted(parameters, ',');
        let (mut own, mut relations) = (own, None);
        while !own.is_empty() {
            let (parameter, more) = split_unquoted(own, ';');
            own = more;
            // Of several `rel` parameters, the first counts.
            if let (Some((name, value)), None) = (parameter.split_once('='), &relations)
                && name.trim().eq_ignore_ascii_case("rel")
            {
                let all = value.trim().trim_matches('"').split_whitespace();
                relations = Some(all.map(str::to_owned).collect());
            }
        }
        found.push((url.trim().to_owned(), relations.unwrap_or_default()));
        rest = others;
    }
    found
}

/// Splits a text at the first `at` outside quotes.
fn split_unquoted(text: &str, at: char) -> (&str, &str) {
    let (mut in_quotes, mut is_escaped) = (false, false);
    let end = text.find(|it: char| {
        let is_plain = !std::mem::take(&mut is_escaped);
        is_escaped = is_plain && in_quotes && it == '\\';
        in_quotes ^= is_plain && it == '"';
        it == at && !in_quotes
    });
    end.map_or((text, ""), |end| (&text[..end], &text[end + at.len_utf8()..]))
}

#[cfg(test)]
mod tests;
