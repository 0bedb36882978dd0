use super::*;
use crate::config::Limits;
use futures_util::{FutureExt, StreamExt, stream};
use http::HeaderValue;
use http_body::Frame;
use http_body_util::StreamBody;
use std::convert::Infallible;

const MIB: u64 = 1 << 20;

/// A desk at which bodies are read.
struct Desk {
    large_bodies: LargeBodies,
    stopping: CancellationToken,
    max: u64,
}

impl Desk {
    fn new(max: u64) -> Self {
        let limits = Limits { body_bytes: max, ..Limits::default() };
        let large_bodies = LargeBodies::new(&limits);
        Self { large_bodies, stopping: CancellationToken::new(), max }
    }

    fn n_units_left(&self) -> u64 {
        256 - self.large_bodies.n_units_held()
    }

    /// Reads a body of so many pieces of 64 KiB, which may never end.
    async fn read(
        &self,
        announced: Option<u64>,
        n_bytes: u64,
        ends: bool,
    ) -> Result<ReceivedBody, Problem> {
        let mut headers = HeaderMap::new();
        if let Some(length) = announced {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        }
        let piece_bytes = 64 << 10;
        let pieces = (0..n_bytes.div_ceil(piece_bytes)).map(move |n| {
            let n_here = piece_bytes.min(n_bytes - n * piece_bytes);
            Ok::<_, Infallible>(Frame::data(Bytes::from(vec![b'x'; n_here as usize])))
        });
        let pieces = stream::iter(pieces);
        let pieces = match ends {
            true => pieces.boxed(),
            false => pieces.chain(stream::pending()).boxed(),
        };
        let limits = BodyLimits {
            max: self.max,
            timeout: config::Duration::seconds(30),
            large_bodies: &self.large_bodies,
            tenant: "acme",
            stopping: &self.stopping,
        };
        read(&headers, &mut StreamBody::new(pieces), limits).await
    }

    async fn status(&self, announced: Option<u64>, n_bytes: u64, ends: bool) -> u16 {
        self.read(announced, n_bytes, ends).await.err().map_or(200, |it| it.status.as_u16())
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_is_read_up_to_its_bound() {
    for max in [1024, OBJECT_BYTES_MAX, 8 * MIB] {
        let desk = Desk::new(max);
        for is_announced in [true, false] {
            for (n_bytes, status) in [(0, 200), (1, 200), (max, 200), (max + 1, 413)] {
                let announced = is_announced.then_some(n_bytes);
                assert_eq!(desk.status(announced, n_bytes, true).await, status, "{n_bytes} {max}");
            }
            assert_eq!(desk.status(None, max, false).await, 408, "{max}: the end never comes");
        }
        let whole = desk.read(None, max, true).await.ok().unwrap();
        assert_eq!(whole.bytes.len() as u64, max);
    }
}

#[tokio::test]
async fn a_large_body_takes_room_until_it_is_dropped() {
    let desk = Desk::new(32 * MIB);
    assert_eq!(desk.n_units_left(), 256);
    for (announced, n_bytes, n_units) in [
        (Some(MIB), MIB, 0),
        (None, MIB, 0),
        (Some(MIB + 1), MIB + 1, 2),
        (Some(3 * MIB), 3 * MIB, 3),
        (None, MIB + 1, 2),
    ] {
        let arrived = desk.read(announced, n_bytes, true).await.ok().unwrap();
        assert_eq!(arrived.bytes.len() as u64, n_bytes);
        assert_eq!(desk.n_units_left(), 256 - n_units, "{announced:?} {n_bytes}");
        drop(arrived);
        assert_eq!(desk.n_units_left(), 256);
    }
}

#[tokio::test(start_paused = true)]
async fn who_finds_no_room_waits_for_it_and_not_for_ever() {
    let desk = Desk::new(32 * MIB);
    let mut held = Vec::new();
    for _ in 0..2 {
        held.push(desk.read(Some(32 * MIB), 32 * MIB, true).await.ok().unwrap());
    }
    assert_eq!(desk.status(Some(MIB), MIB, true).await, 200, "small ones need none");
    let refused = desk.read(Some(2 * MIB), 2 * MIB, true).await.err().unwrap();
    assert_eq!(refused.status, 503);
    assert!(refused.into_reply("id").headers.contains_key("retry-after"));
    assert_eq!(desk.status(None, 2 * MIB, true).await, 503);

    let mut waits = std::pin::pin!(desk.read(Some(2 * MIB), 2 * MIB, true));
    assert!(waits.as_mut().now_or_never().is_none());
    held.pop();
    assert!(waits.await.is_ok(), "its turn came");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ends_does_not_wait_long() {
    let desk = Desk::new(32 * MIB);
    let all = [desk.large_bodies.begin("acme"), desk.large_bodies.begin("acme")];
    for room in &all {
        room.grow_to(32 * MIB).await;
    }
    desk.stopping.cancel();
    let began = Instant::now();
    assert_eq!(desk.status(Some(2 * MIB), 2 * MIB, false).await, 503);
    assert_eq!(desk.status(None, 1, false).await, 408);
    assert_eq!(began.elapsed().as_secs(), 2 * LAST_BODY_TIMEOUT.as_secs());
}
