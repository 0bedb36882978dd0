//! Reading the body of a request: within bounds of size and time, and of what all of them hold together.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode, header};
use http_body::Body;
use http_body_util::BodyExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::problem::Problem;
use crate::config::{self, Limits};

/// Most bytes in the body of a request about a single thing.
pub(crate) const OBJECT_BYTES_MAX: u64 = 1 << 20;

/// Most bytes in the body of a request of somebody who is not known yet.
pub(crate) const STRANGERS_BYTES_MAX: u64 = 8 << 10;

/// Most bytes of large bodies that are held at a time; one of the largest always fits. What is no larger
/// than an object may be is bounded by how many requests there are.
const LARGE_BODIES_BYTES_MAX: u64 = 256 << 20;

/// What room is given out in.
const ROOM_UNIT_BYTES: u64 = 1 << 20;

/// How long a body that is on its way may take to arrive when the server ends.
const LAST_BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// Room for large bodies.
pub(crate) struct LargeBodies(Arc<Semaphore>);

/// Room for one large body, which is free again when this is dropped.
pub(crate) type Room = OwnedSemaphorePermit;

impl LargeBodies {
    pub(crate) fn new(limits: &Limits) -> Self {
        let n_units = units(LARGE_BODIES_BYTES_MAX.max(limits.body_bytes));
        Self(Arc::new(Semaphore::new(n_units as usize)))
    }

    /// Room for so many bytes. Who comes first is served first.
    async fn take(&self, n_bytes: u64) -> Room {
        let room = Arc::clone(&self.0).acquire_many_owned(units(n_bytes)).await;
        room.expect("the semaphore is never closed")
    }
}

fn units(n_bytes: u64) -> u32 {
    u32::try_from(n_bytes.div_ceil(ROOM_UNIT_BYTES)).unwrap_or(u32::MAX)
}

/// What bounds a body.
pub(crate) struct BodyLimits<'a> {
    /// Most bytes.
    pub(crate) max: u64,
    /// How long it may take to arrive, and how long it may wait for room.
    pub(crate) timeout: config::Duration,
    /// Where it finds room when it is large.
    pub(crate) large_bodies: &'a LargeBodies,
    /// Set when the server is about to end: then it has to be quick.
    pub(crate) stopping: &'a CancellationToken,
}

/// A body that has arrived.
pub(crate) struct Arrived {
    pub(crate) bytes: Bytes,
    /// What it takes, if it is large.
    pub(crate) room: Option<Room>,
}

/// Reads a body within its limits. A large one is read only when there is room for it.
pub(crate) async fn read<B>(
    headers: &HeaderMap,
    body: &mut B,
    limits: BodyLimits<'_>,
) -> Result<Arrived, Problem>
where
    B: Body<Data = Bytes> + Unpin,
{
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let announced = announced.and_then(|it| it.parse::<u64>().ok());
    if announced.is_some_and(|length| length > limits.max) {
        return Err(limits.too_large());
    }
    let mut read = BytesMut::new();
    let mut left = limits.timeout.get();
    if announced.is_none_or(|length| length <= OBJECT_BYTES_MAX) {
        let began = Instant::now();
        let small = limits.max.min(OBJECT_BYTES_MAX);
        if limits.in_time(left, fill(body, &mut read, small)).await?? == Filled::ToItsEnd {
            return Ok(Arrived { bytes: read.freeze(), room: None });
        }
        // One piece may be as large as it likes.
        if read.len() as u64 > limits.max {
            return Err(limits.too_large());
        }
        left = left.saturating_sub(began.elapsed());
    }
    let n_bytes = announced.unwrap_or(limits.max);
    let room = Some(limits.room(n_bytes).await?);
    if let Some(length) = announced {
        read.reserve(usize::try_from(length).unwrap_or_default().saturating_sub(read.len()));
    }
    match limits.in_time(left, fill(body, &mut read, limits.max)).await?? {
        Filled::ToItsEnd => Ok(Arrived { bytes: read.freeze(), room }),
        Filled::ThereIsMore => Err(limits.too_large()),
    }
}

#[derive(PartialEq, Eq)]
enum Filled {
    ToItsEnd,
    /// There are more bytes than were asked for.
    ThereIsMore,
}

/// Reads until a body ends, or is larger than it should be.
async fn fill<B>(body: &mut B, read: &mut BytesMut, max: u64) -> Result<Filled, Problem>
where
    B: Body<Data = Bytes> + Unpin,
{
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| {
            let detail = "the body ended before it was whole";
            Problem::new(StatusCode::BAD_REQUEST, "Incomplete body", detail)
        })?;
        if let Ok(data) = frame.into_data() {
            read.extend_from_slice(&data);
            if read.len() as u64 > max {
                return Ok(Filled::ThereIsMore);
            }
        }
    }
    Ok(Filled::ToItsEnd)
}

impl BodyLimits<'_> {
    fn too_large(&self) -> Problem {
        let detail = format!("the body is too large; {} bytes are allowed", self.max);
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "Body too large", detail)
    }

    /// Reads while there is time.
    async fn in_time<T>(
        &self,
        left: Duration,
        reading: impl Future<Output = T>,
    ) -> Result<T, Problem> {
        let timeout = self.timeout;
        let detail = tokio::select! {
            // Most bodies are there already, and need no timer.
            biased;
            read = reading => return Ok(read),
            () = tokio::time::sleep(left) => format!("the body did not arrive within {timeout}"),
            () = self.last_call() => {
                "the server is about to end, and the body was not there in time".to_owned()
            }
        };
        Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "Too slow", detail))
    }

    /// Waits for room. That there is none is not the client's fault.
    async fn room(&self, n_bytes: u64) -> Result<Room, Problem> {
        tokio::select! {
            biased;
            room = self.large_bodies.take(n_bytes) => return Ok(room),
            () = tokio::time::sleep(self.timeout.get()) => {}
            () = self.last_call() => {}
        }
        let detail = "too many large bodies are being read, try again later";
        Err(Problem::unavailable("Busy", detail))
    }

    async fn last_call(&self) {
        self.stopping.cancelled().await;
        tokio::time::sleep(LAST_BODY_TIMEOUT).await;
    }
}

#[cfg(test)]
mod tests;
