//! A handler's response.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde::Serialize;

use super::media::JSON;
use super::stream::{Finished, Producer, Sink, StreamError};

pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: ReplyBody,
}

pub(crate) enum ReplyBody {
    Whole(Bytes),
    /// The producer of a streamed body, which isn't started yet.
    Streamed(Producer),
    /// The producer of a body without an end, which isn't started yet. It is never compressed: a compressor would hold
    /// back what the client waits for.
    Endless(Producer),
}

impl ReplyBody {
    /// The bytes of a whole body; empty for a streamed one.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Whole(bytes) => bytes,
            Self::Streamed(_) | Self::Endless(_) => &[],
        }
    }
}

impl Reply {
    pub(crate) fn json(status: StatusCode, body: &impl Serialize) -> Self {
        let bytes = serde_json::to_vec(body).expect("bodies are plain data");
        Self::whole(status, JSON, bytes.into())
    }

    pub(crate) fn whole(status: StatusCode, media_type: &str, body: Bytes) -> Self {
        Self { body: ReplyBody::Whole(body), ..Self::empty(status) }
            .with(header::CONTENT_TYPE, media_type)
    }

    /// A reply with a streamed body, compressed if the client prefers that. For HEAD, `produce` isn't called.
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

    /// A reply whose body has no end; `produce` holds what limits their number. For HEAD, it isn't called.
    pub(crate) fn endless<BodyFuture>(
        media_type: &str,
        produce: impl FnOnce(Sink) -> BodyFuture + Send + 'static,
    ) -> Self
    where
        BodyFuture: Future<Output = Result<Finished, StreamError>> + Send + 'static,
    {
        let producer: Producer = Box::new(move |sink| Box::pin(produce(sink)));
        let body = ReplyBody::Endless(producer);
        Self { body, ..Self::empty(StatusCode::OK) }.with(header::CONTENT_TYPE, media_type)
    }

    pub(crate) fn empty(status: StatusCode) -> Self {
        Self { status, headers: HeaderMap::new(), body: ReplyBody::Whole(Bytes::new()) }
    }

    /// Adds a header; ignores an invalid value.
    pub(crate) fn with(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }
}
