//! Conditional requests: an access's version is its `ETag`, and a file's is made of what it holds.

use http::{HeaderMap, HeaderName, header};

/// The `ETag` of this version.
pub(crate) fn etag(version: u64) -> String {
    format!("\"{version}\"")
}

/// Whether the client has what this tag stands for already (`If-None-Match`).
pub(crate) fn client_has(headers: &HeaderMap, etag: &str) -> bool {
    // Weak or strong doesn't matter to somebody who only reads.
    Tags::read(headers, header::IF_NONE_MATCH).is_some_and(|tags| tags.matches(etag, strengthen))
}

fn strengthen(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}

/// What `If-Match` and `If-None-Match` allow a change to be made to.
#[derive(Clone)]
pub(crate) struct Precondition {
    if_match: Option<Tags>,
    if_none_match: Option<Tags>,
}

impl Precondition {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        Self {
            if_match: Tags::read(headers, header::IF_MATCH),
            if_none_match: Tags::read(headers, header::IF_NONE_MATCH),
        }
    }

    pub(crate) fn allows(&self, version: u64) -> bool {
        let etag = etag(version);
        // For If-Match a weak tag never matches: it doesn't promise the same version.
        self.if_match.as_ref().is_none_or(|tags| tags.matches(&etag, |tag| tag))
            && !self.if_none_match.as_ref().is_some_and(|tags| tags.matches(&etag, strengthen))
    }
}

#[derive(Clone)]
enum Tags {
    Any,
    These(Vec<String>),
}

impl Tags {
    fn read(headers: &HeaderMap, name: HeaderName) -> Option<Self> {
        let values: Vec<&str> = headers
            .get_all(name)
            .iter()
            // A value that is no text names no version of ours.
            .map(|value| value.to_str().unwrap_or_default())
            .collect();
        if values.is_empty() {
            return None;
        }
        let tags: Vec<String> =
            values.iter().flat_map(|it| it.split(',')).map(|tag| tag.trim().to_owned()).collect();
        Some(if tags == ["*"] { Self::Any } else { Self::These(tags) })
    }

    fn matches(&self, etag: &str, strip: impl Fn(&str) -> &str) -> bool {
        match self {
            Self::Any => true,
            Self::These(tags) => tags.iter().any(|tag| strip(tag) == etag),
        }
    }
}
