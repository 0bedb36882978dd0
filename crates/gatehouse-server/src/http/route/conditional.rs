//! Conditional requests. The `ETag` of an access is its version, that of a file is a digest of its content.

use http::{HeaderMap, HeaderName, header};

pub(crate) fn etag(version: u64) -> String {
    format!("\"{version}\"")
}

/// Whether the client already has the version with this tag (`If-None-Match`).
pub(crate) fn client_has(headers: &HeaderMap, etag: &str) -> bool {
    // Reads compare weakly (RFC 9110, section 13.1.2).
    Tags::read(headers, header::IF_NONE_MATCH).is_some_and(|tags| tags.matches(etag, strengthen))
}

fn strengthen(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}

/// The versions to which `If-Match` and `If-None-Match` allow a change.
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
        // A weak tag never matches in If-Match: it doesn't promise the same version.
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
            // A value that isn't text matches no version.
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
