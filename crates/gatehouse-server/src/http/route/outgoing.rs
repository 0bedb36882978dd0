//! From a handler's reply to the HTTP response: length, compression and streaming.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use tokio_util::task::TaskTracker;

use crate::http::HttpApi;
use crate::http::answer::answer_body::{AnswerBody, EndlessBody};
use crate::http::answer::correlation::Correlation;
use crate::http::answer::negotiation::{prefers_gzip, vary};
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::{Reply, ReplyBody};
use crate::http::answer::stream::{self, StreamError};
use crate::http::intake::slots::Slots;
use crate::http::route::resource::Operation;
use crate::metrics::{StreamEnd, StreamKind};
use crate::trace::Trace;

/// Applies the request's preferences to a reply: compression, `Vary`, and no stream for HEAD.
pub(in crate::http) fn negotiate(
    mut reply: Reply,
    operation: &Operation,
    parts: &http::request::Parts,
    tenant: &str,
    slots: &Slots,
) -> Result<Reply, Problem> {
    if operation.has_several_media_types() {
        vary(&mut reply.headers, "Accept");
    }
    let producer = match reply.body {
        ReplyBody::Streamed(producer) => producer,
        ReplyBody::Endless(_) if parts.method == Method::HEAD => {
            return Ok(Reply { body: ReplyBody::Whole(Bytes::new()), ..reply });
        }
        ReplyBody::Endless(_) | ReplyBody::Whole(_) => return Ok(reply),
    };
    vary(&mut reply.headers, "Accept-Encoding");
    if prefers_gzip(&parts.headers) {
        reply.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    let body = match parts.method {
        Method::HEAD => ReplyBody::Whole(Bytes::new()),
        _ => ReplyBody::Streamed(stream::with_slot(producer, slots.take_stream(tenant)?)),
    };
    Ok(Reply { body, ..reply })
}

/// Sets `Content-Length`, and drops the body for HEAD.
pub(in crate::http) fn with_length(mut reply: Reply, method: &Method) -> Reply {
    let length = reply.body.bytes().len();
    if length > 0 {
        // For HEAD, the length of the GET's body.
        reply.headers.insert(header::CONTENT_LENGTH, length.into());
    }
    if method == Method::HEAD {
        reply.body = ReplyBody::Whole(Bytes::new());
    }
    reply
}

/// A reply that is ready to be sent, with its origin for the log.
pub(in crate::http) struct Outgoing {
    pub(in crate::http) reply: Reply,
    pub(in crate::http) route: &'static str,
    pub(in crate::http) api: HttpApi,
    pub(in crate::http) correlation: Correlation,
    pub(in crate::http) trace: Trace,
}

impl Outgoing {
    /// Converts the reply to a response. A separate task produces a streamed body, and holds `busy` meanwhile.
    pub(in crate::http) fn send<Busy: Send + 'static>(
        self,
        requests: &TaskTracker,
        busy: Busy,
    ) -> Response<AnswerBody> {
        let Self { reply: Reply { status, headers, body }, route, api, correlation, trace } = self;
        let (producer, kind) = match body {
            ReplyBody::Whole(bytes) => {
                return response(status, headers, AnswerBody::whole(bytes));
            }
            ReplyBody::Streamed(producer) => (producer, StreamKind::Finite),
            ReplyBody::Endless(producer) => (producer, StreamKind::Endless),
        };
        let is_compressed = headers.contains_key(header::CONTENT_ENCODING);
        let (produced, body) = stream::begin(producer, is_compressed);
        let (correlation_id, trace_id) = (correlation.id, trace.id());
        let produced = async move {
            let _busy = busy;
            let mut watched = api.server.metrics.streams.begin(kind);
            let produced = produced.await;
            watched.end = StreamEnd::of(&produced);
            if let Err(StreamError::Failed(cause)) = produced {
                tracing::error!(
                    cause,
                    route,
                    correlation_id,
                    trace_id,
                    "a streamed response was truncated"
                );
            }
        };
        match kind {
            StreamKind::Finite => requests.spawn(async move { trace.run(produced).await }),
            // A span of hours with all of its reads is of no use.
            StreamKind::Endless => requests.spawn(produced),
        };
        let mut response = response(status, headers, body);
        if kind == StreamKind::Endless {
            response.extensions_mut().insert(EndlessBody);
        }
        response
    }
}

fn response(status: StatusCode, headers: HeaderMap, body: AnswerBody) -> Response<AnswerBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
