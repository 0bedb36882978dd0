//! An answer when all is well.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde::Serialize;

use super::media::JSON;

/// An answer when all is well.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Reply {
    /// An answer with a JSON body.
    pub(crate) fn json(status: StatusCode, body: &impl Serialize) -> Self {
        let body = serde_json::to_vec(body).expect("bodies are plain data");
        Self { body: body.into(), ..Self::empty(status) }.with(header::CONTENT_TYPE, JSON)
    }

    /// An answer without a body.
    pub(crate) fn empty(status: StatusCode) -> Self {
        Self { status, headers: HeaderMap::new(), body: Bytes::new() }
    }

    /// The same with a header; a value that no header can hold is left out.
    pub(crate) fn with(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }
}
