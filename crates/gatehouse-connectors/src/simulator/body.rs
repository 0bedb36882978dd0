//! The bodies that a simulated platform sends when it misbehaves: a byte at a time, or without measure.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;

use crate::platform_server::Body;

/// How long each byte is waited for when a body trickles.
const TRICKLE_INTERVAL: Duration = Duration::from_millis(100);

/// How long a huge body is, and how much of it is sent at a time.
pub(super) const HUGE_BYTES: usize = 200 << 20;
const HUGE_PIECE_BYTES: usize = 64 << 10;

/// What a huge body begins with: it is good JSON as long as anybody reads.
const HUGE_START: &[u8] = b"{\"connections\":[";

/// A byte at a time.
pub(super) fn trickling(bytes: Bytes) -> Body {
    let pieces = stream::unfold(bytes, |mut left| async move {
        if left.is_empty() {
            return None;
        }
        tokio::time::sleep(TRICKLE_INTERVAL).await;
        let first = left.split_to(1);
        Some((Ok(Frame::data(first)), left))
    });
    StreamBody::new(pieces).boxed_unsync()
}

/// [`HUGE_BYTES`] that begin like a list and go on with white space.
pub(super) fn huge() -> Body {
    let filler = Bytes::from(vec![b' '; HUGE_PIECE_BYTES]);
    let start = Frame::data(Bytes::from_static(HUGE_START));
    let pieces =
        stream::unfold((Some(start), HUGE_BYTES - HUGE_START.len()), move |(start, n_left)| {
            let mut piece = filler.clone();
            async move {
                if let Some(start) = start {
                    return Some((Ok(start), (None, n_left)));
                }
                piece.truncate(n_left);
                let n_left = n_left - piece.len();
                (!piece.is_empty()).then(|| (Ok(Frame::data(piece)), (None, n_left)))
            }
        });
    StreamBody::new(pieces).boxed_unsync()
}
