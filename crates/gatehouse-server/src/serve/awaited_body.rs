//! A request body that tells the connection its length, and when a handler waits for it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::connections::{Activity, BodyWait};

/// A body, and a guard while a handler waits for more of it.
pub(super) struct AwaitedBody<B> {
    body: B,
    activity: Arc<Activity>,
    waiting: Option<BodyWait>,
}

impl<B> AwaitedBody<B> {
    pub(super) fn new(body: B, activity: Arc<Activity>) -> Self
    where
        B: Body,
    {
        activity.expect_body(body.size_hint().exact());
        Self { body, activity, waiting: None }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for AwaitedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if polled.is_ready() {
            self.waiting = None;
        } else if self.waiting.is_none() {
            self.waiting = Some(self.activity.await_body());
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
