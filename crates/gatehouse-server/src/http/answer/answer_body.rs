//! The body of a response: whole or streamed.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::mpsc::Receiver;

/// The body of a response.
pub struct AnswerBody(Content);

/// Extension of a response whose body has no end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndlessBody;

enum Content {
    /// The whole body; `None` once it was sent, or if it is empty.
    Whole(Option<Bytes>),
    /// Chunks from a producer.
    Streamed(Receiver<Chunk>),
    /// The end was sent, or the body was truncated.
    Done,
}

/// A message from the producer of a streamed body.
pub(in crate::http) enum Chunk {
    Data(Bytes),
    /// The end. A body without it is truncated.
    End,
}

/// A streamed body ended early: the client must see that it is incomplete.
#[derive(Debug, thiserror::Error)]
#[error("the response was truncated")]
pub struct TruncatedBody;

impl AnswerBody {
    pub(in crate::http) fn whole(bytes: Bytes) -> Self {
        Self(Content::Whole(Some(bytes).filter(|bytes| !bytes.is_empty())))
    }

    pub(in crate::http) fn streamed(chunks: Receiver<Chunk>) -> Self {
        Self(Content::Streamed(chunks))
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = TruncatedBody;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, TruncatedBody>>> {
        let chunks = match &mut self.0 {
            Content::Whole(bytes) => return Poll::Ready(bytes.take().map(Frame::data).map(Ok)),
            Content::Streamed(chunks) => chunks,
            Content::Done => return Poll::Ready(None),
        };
        let polled = match ready!(chunks.poll_recv(cx)) {
            Some(Chunk::Data(bytes)) => return Poll::Ready(Some(Ok(Frame::data(bytes)))),
            Some(Chunk::End) => None,
            None => Some(Err(TruncatedBody)),
        };
        self.0 = Content::Done;
        Poll::Ready(polled)
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Content::Whole(None) | Content::Done)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Content::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Content::Streamed(_) => SizeHint::default(),
            Content::Done => SizeHint::with_exact(0),
        }
    }
}
