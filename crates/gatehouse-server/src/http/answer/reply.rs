//! An answer when all is well.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde::Serialize;

use super::media::JSON;
use super::stream::{Finished, Producer, Sink, StreamError};

/// An answer when all is well.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: ReplyBody,
}

/// What an answer says.
pub(crate) enum ReplyBody {
    /// All of it.
    Whole(Bytes),
    /// How to make it, once it is clear that the client wants it.
    Streamed(Producer),
}

impl ReplyBody {
    /// What is there already; nothing of what has yet to be made.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Whole(bytes) => bytes,
            Self::Streamed(_) => &[],
        }
    }
}

impl Reply {
    /// An answer with a JSON body.
    pub(crate) fn json(status: StatusCode, body: &impl Serialize) -> Self {
        let bytes = serde_json::to_vec(body).expect("bodies are plain data");
        Self::whole(status, JSON, bytes.into())
    }

    /// An answer with a body of another kind.
    pub(crate) fn whole(status: StatusCode, media_type: &str, body: Bytes) -> Self {
        Self { body: ReplyBody::Whole(body), ..Self::empty(status) }
            .with(header::CONTENT_TYPE, media_type)
    }

    /// An answer whose body is made while it goes out, and compressed for those who like it so. For HEAD it
    /// is not made at all.
    pub(crate) fn streamed<BodyFuture>(
        status: StatusCode,
        media_type: &str,
        produce: impl FnOnce(Sink) -> BodyFuture + Send + 'static,
    ) -> Self
    where
        BodyFuture: Future<Output = Result<Finished, StreamError>> + Send + 'static,
    {
        let producer: Producer = Box::new(move |sink| Box::pin(produce(sink)));
        let body = ReplyBody::Streamed(producer);
        Self { body, ..Self::empty(status) }.with(header::CONTENT_TYPE, media_type)
    }

    /// An answer without a body.
    pub(crate) fn empty(status: StatusCode) -> Self {
        Self { status, headers: HeaderMap::new(), body: ReplyBody::Whole(Bytes::new()) }
    }

    /// The same with a header; a value that no header can hold is left out.
    pub(crate) fn with(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }
}
