//! Bodies of misbehaving platforms: sent a byte at a time, or huge.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;

use crate::platform_server::Body;

/// Pause before each byte of a trickling body.
const TRICKLE_INTERVAL: Duration = Duration::from_millis(100);

/// Bytes of a huge body, and of each of its chunks.
pub(super) const HUGE_BYTES: usize = 200 << 20;
const HUGE_CHUNK_BYTES: usize = 64 << 10;

/// Start of a huge body: valid JSON as far as a client reads.
const HUGE_START: &[u8] = b"{\"connections\":[";

/// Body that is sent a byte at a time.
pub(super) fn trickling(bytes: Bytes) -> Body {
    let chunks = stream::unfold(bytes, |mut left| async move {
        if left.is_empty() {
            return None;
        }
        tokio::time::sleep(TRICKLE_INTERVAL).await;
        let first = left.split_to(1);
        Some((Ok(Frame::data(first)), left))
    });
    StreamBody::new(chunks).boxed_unsync()
}

/// Body of [`HUGE_BYTES`]: the start of a list, then white space.
pub(super) fn huge() -> Body {
    let filler = Bytes::from(vec![b' '; HUGE_CHUNK_BYTES]);
    let start = Frame::data(Bytes::from_static(HUGE_START));
    let chunks =
        stream::unfold((Some(start), HUGE_BYTES - HUGE_START.len()), move |(start, n_left)| {
            let mut chunk = filler.clone();
            async move {
                if let Some(start) = start {
                    return Some((Ok(start), (None, n_left)));
                }
                chunk.truncate(n_left);
                let n_left = n_left - chunk.len();
                (!chunk.is_empty()).then(|| (Ok(Frame::data(chunk)), (None, n_left)))
            }
        });
    StreamBody::new(chunks).boxed_unsync()
}
