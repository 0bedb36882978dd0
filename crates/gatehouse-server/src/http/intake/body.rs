//! Reading the body of a request: within bounds of size and time, and of what all of them hold together.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode, header};
use http_body::Body;
use http_body_util::BodyExt;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::large_bodies::{BodyMemory, LargeBodies};
use crate::config;
use crate::http::answer::problem::Problem;

/// Most bytes in the body of a request about a single thing.
pub(crate) const OBJECT_BYTES_MAX: u64 = 1 << 20;

/// Most bytes in the body of a request of somebody who is not known yet.
pub(crate) const UNAUTHENTICATED_BYTES_MAX: u64 = 8 << 10;

/// How much of a large body is read before there is room for it.
const PIECE_BYTES: u64 = 1 << 20;

/// How long a body that is on its way may take to arrive when the server ends.
const LAST_BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// What bounds a body.
pub(crate) struct BodyLimits<'a> {
    /// Most bytes.
    pub(crate) max: u64,
    /// How long it may take to arrive, and how long it may wait for room.
    pub(crate) timeout: config::Duration,
    /// Where it finds room when it is large.
    pub(crate) large_bodies: &'a LargeBodies,
    /// Whose it is.
    pub(crate) tenant: &'a str,
    /// Set when the server is about to end: then it has to be quick.
    pub(crate) stopping: &'a CancellationToken,
}

/// A body that has arrived.
pub(crate) struct ReceivedBody {
    pub(crate) bytes: Bytes,
    /// What it takes, if it is large.
    pub(crate) room: Option<BodyMemory>,
}

/// Reads a body within its limits. What is large of it finds room as it arrives.
pub(crate) async fn read<B>(
    headers: &HeaderMap,
    body: &mut B,
    limits: BodyLimits<'_>,
) -> Result<ReceivedBody, Problem>
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
    let small = limits.max.min(OBJECT_BYTES_MAX);
    let mut bound = small;
    let mut room: Option<BodyMemory> = None;
    loop {
        let began = Instant::now();
        let filled = limits.in_time(left, fill(body, &mut read, bound)).await??;
        left = left.saturating_sub(began.elapsed());
        if filled == Filled::ToItsEnd {
            room.iter().for_each(BodyMemory::close);
            return Ok(ReceivedBody { bytes: read.freeze(), room });
        }
        // One piece may be as large as it likes.
        let n_bytes = read.len() as u64;
        if n_bytes > limits.max {
            return Err(limits.too_large());
        }
        let room = room.get_or_insert_with(|| limits.large_bodies.begin(limits.tenant));
        limits.wait_for(room.grow_to(n_bytes)).await?;
        if let Some(length) = announced.filter(|_| bound == small) {
            // Nothing of it is touched before there is room for it.
            read.reserve(usize::try_from(length).unwrap_or_default().saturating_sub(read.len()));
        }
        bound = (n_bytes + PIECE_BYTES).min(limits.max);
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
    async fn wait_for(&self, room: impl Future<Output = ()>) -> Result<(), Problem> {
        tokio::select! {
            biased;
            () = room => return Ok(()),
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
