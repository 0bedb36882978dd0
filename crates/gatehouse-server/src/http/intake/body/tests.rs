use super::*;
use crate::config::Limits;
use futures_util::{FutureExt, StreamExt, stream};
use http::HeaderValue;
use http_body::Frame;
use http_body_util::StreamBody;
use std::convert::Infallible;

const MIB: u64 = 1 << 20;

/// Reads bodies that the test makes.
struct BodyReader {
    large_bodies: LargeBodies,
    stopping: CancellationToken,
    max: u64,
}

impl BodyReader {
    fn new(max: u64) -> Self {
        let limits = Limits { body_bytes: max, ..Limits::default() };
        let large_bodies = LargeBodies::new(&limits);
        Self { large_bodies, stopping: CancellationToken::new(), max }
    }

    fn n_units_left(&self) -> u64 {
        256 - self.large_bodies.n_units_reserved()
    }

    /// Reads a body of 64 KiB frames; one that doesn't end stays pending after its last frame.
    async fn read(
        &self,
        content_length: Option<u64>,
        n_bytes: u64,
        ends: bool,
    ) -> Result<ReceivedBody, Problem> {
        let mut headers = HeaderMap::new();
        if let Some(length) = content_length {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        }
        let frame_bytes = 64 << 10;
        let frames = (0..n_bytes.div_ceil(frame_bytes)).map(move |n| {
            let n_here = frame_bytes.min(n_bytes - n * frame_bytes);
            Ok::<_, Infallible>(Frame::data(Bytes::from(vec![b'x'; n_here as usize])))
        });
        let frames = stream::iter(frames);
        let frames = match ends {
            true => frames.boxed(),
            false => frames.chain(stream::pending()).boxed(),
        };
        let limits = BodyLimits {
            max: self.max,
            timeout: config::Duration::seconds(30),
            large_bodies: &self.large_bodies,
            tenant: "acme",
            stopping: &self.stopping,
        };
        read(&headers, &mut StreamBody::new(frames), limits).await
    }

    async fn status(&self, content_length: Option<u64>, n_bytes: u64, ends: bool) -> u16 {
        self.read(content_length, n_bytes, ends).await.err().map_or(200, |it| it.status.as_u16())
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_is_read_up_to_its_limit() {
    for max in [1024, OBJECT_BYTES_MAX, 8 * MIB] {
        let reader = BodyReader::new(max);
        for has_length in [true, false] {
            for (n_bytes, status) in [(0, 200), (1, 200), (max, 200), (max + 1, 413)] {
                let content_length = has_length.then_some(n_bytes);
                assert_eq!(
                    reader.status(content_length, n_bytes, true).await,
                    status,
                    "{n_bytes} {max}"
                );
            }
            assert_eq!(reader.status(None, max, false).await, 408, "{max}: the body never ends");
        }
        let whole = reader.read(None, max, true).await.ok().unwrap();
        assert_eq!(whole.bytes.len() as u64, max);
    }
}

#[tokio::test]
async fn a_large_body_holds_memory_until_it_is_dropped() {
    let reader = BodyReader::new(32 * MIB);
    assert_eq!(reader.n_units_left(), 256);
    for (content_length, n_bytes, n_units) in [
        (Some(MIB), MIB, 0),
        (None, MIB, 0),
        (Some(MIB + 1), MIB + 1, 2),
        (Some(3 * MIB), 3 * MIB, 3),
        (None, MIB + 1, 2),
    ] {
        let received = reader.read(content_length, n_bytes, true).await.ok().unwrap();
        assert_eq!(received.bytes.len() as u64, n_bytes);
        assert_eq!(reader.n_units_left(), 256 - n_units, "{content_length:?} {n_bytes}");
        drop(received);
        assert_eq!(reader.n_units_left(), 256);
    }
}

#[tokio::test(start_paused = true)]
async fn a_large_body_without_memory_waits_until_its_timeout() {
    let reader = BodyReader::new(32 * MIB);
    let mut held = Vec::new();
    for _ in 0..2 {
        held.push(reader.read(Some(32 * MIB), 32 * MIB, true).await.ok().unwrap());
    }
    assert_eq!(reader.status(Some(MIB), MIB, true).await, 200, "a small body reserves nothing");
    let refused = reader.read(Some(2 * MIB), 2 * MIB, true).await.err().unwrap();
    assert_eq!(refused.status, 503);
    assert!(refused.into_reply("id").headers.contains_key("retry-after"));
    assert_eq!(reader.status(None, 2 * MIB, true).await, 503);

    let mut waits = std::pin::pin!(reader.read(Some(2 * MIB), 2 * MIB, true));
    assert!(waits.as_mut().now_or_never().is_none());
    held.pop();
    assert!(waits.await.is_ok(), "memory was freed");
}

#[tokio::test(start_paused = true)]
async fn a_stopping_server_waits_only_shortly_for_bodies() {
    let reader = BodyReader::new(32 * MIB);
    let reserved = [reader.large_bodies.begin("acme"), reader.large_bodies.begin("acme")];
    for memory in &reserved {
        memory.grow_to(32 * MIB).await;
    }
    reader.stopping.cancel();
    let began = Instant::now();
    assert_eq!(reader.status(Some(2 * MIB), 2 * MIB, false).await, 503);
    assert_eq!(reader.status(None, 1, false).await, 408);
    assert_eq!(began.elapsed().as_secs(), 2 * LAST_BODY_TIMEOUT.as_secs());
}
