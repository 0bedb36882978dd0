//! Reads request bodies within limits of size and time, and of the memory that all large bodies share.

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

/// Most bytes in the body of a request about a single object.
pub(crate) const OBJECT_BYTES_MAX: u64 = 1 << 20;

/// Most bytes in the body of a request without authentication.
pub(crate) const UNAUTHENTICATED_BYTES_MAX: u64 = 8 << 10;

/// Bytes of a large body that are read before each next reservation of memory.
const GROWTH_BYTES: u64 = 1 << 20;

/// Time that an incomplete body has to arrive once the server is stopping.
const LAST_BODY_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) struct BodyLimits<'a> {
    pub(crate) max: u64,
    /// Time that the body may take to arrive, and that it may wait for memory.
    pub(crate) timeout: config::Duration,
    pub(crate) large_bodies: &'a LargeBodies,
    /// The tenant whose share of that memory the body uses.
    pub(crate) tenant: &'a str,
    /// Cancelled when the server is stopping.
    pub(crate) stopping: &'a CancellationToken,
}

pub(crate) struct ReceivedBody {
    pub(crate) bytes: Bytes,
    /// Memory reserved for the body, if it is large.
    pub(crate) memory: Option<BodyMemory>,
}

/// Reads a body within its limits. A large body reserves memory as its bytes arrive.
pub(crate) async fn read<B>(
    headers: &HeaderMap,
    body: &mut B,
    limits: BodyLimits<'_>,
) -> Result<ReceivedBody, Problem>
where
    B: Body<Data = Bytes> + Unpin,
{
    let content_length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let content_length = content_length.and_then(|it| it.parse::<u64>().ok());
    if content_length.is_some_and(|length| length > limits.max) {
        return Err(limits.too_large());
    }
    let mut read = BytesMut::new();
    let mut remaining = limits.timeout.get();
    let small = limits.max.min(OBJECT_BYTES_MAX);
    let mut bound = small;
    let mut memory: Option<BodyMemory> = None;
    loop {
        let began = Instant::now();
        let ended = limits.with_timeout(remaining, fill(body, &mut read, bound)).await??;
        remaining = remaining.saturating_sub(began.elapsed());
        if ended == ReadEnd::EndOfBody {
            memory.iter().for_each(BodyMemory::complete);
            return Ok(ReceivedBody { bytes: read.freeze(), memory });
        }
        // One frame may be of any size.
        let n_bytes = read.len() as u64;
        if n_bytes > limits.max {
            return Err(limits.too_large());
        }
        let memory = memory.get_or_insert_with(|| limits.large_bodies.begin(limits.tenant));
        limits.wait_for_memory(memory.grow_to(n_bytes)).await?;
        if let Some(length) = content_length.filter(|_| bound == small) {
            // The operating system gives out pages only when bytes are written to them.
            read.reserve(usize::try_from(length).unwrap_or_default().saturating_sub(read.len()));
        }
        bound = (n_bytes + GROWTH_BYTES).min(limits.max);
    }
}

#[derive(PartialEq, Eq)]
enum ReadEnd {
    EndOfBody,
    LimitReached,
}

/// Reads until the body ends or has more than `max` bytes.
async fn fill<B>(body: &mut B, read: &mut BytesMut, max: u64) -> Result<ReadEnd, Problem>
where
    B: Body<Data = Bytes> + Unpin,
{
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| {
            let detail = "the connection or stream ended before the whole body had arrived";
            Problem::new(StatusCode::BAD_REQUEST, "Incomplete body", detail)
        })?;
        if let Ok(data) = frame.into_data() {
            read.extend_from_slice(&data);
            if read.len() as u64 > max {
                return Ok(ReadEnd::LimitReached);
            }
        }
    }
    Ok(ReadEnd::EndOfBody)
}

impl BodyLimits<'_> {
    fn too_large(&self) -> Problem {
        let detail = format!("the body is too large; {} bytes are allowed", self.max);
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "Body too large", detail)
    }

    /// Stops a read when its time has passed, or soon after the server begins to stop.
    async fn with_timeout<T>(
        &self,
        remaining: Duration,
        read: impl Future<Output = T>,
    ) -> Result<T, Problem> {
        let timeout = self.timeout;
        let detail = tokio::select! {
            // Most bodies have arrived already and need no timer.
            biased;
            read = read => return Ok(read),
            () = tokio::time::sleep(remaining) => format!("the body did not arrive within {timeout}"),
            () = self.shutdown_grace() => {
                "the server is stopping, and the body did not arrive in time".to_owned()
            }
        };
        Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "Too slow", detail))
    }

    /// Waits for memory; 503 on timeout, because the client isn't at fault.
    async fn wait_for_memory(&self, memory: impl Future<Output = ()>) -> Result<(), Problem> {
        tokio::select! {
            biased;
            () = memory => return Ok(()),
            () = tokio::time::sleep(self.timeout.get()) => {}
            () = self.shutdown_grace() => {}
        }
        let detail = "too many large bodies are being read, try again later";
        Err(Problem::unavailable("Busy", detail))
    }

    async fn shutdown_grace(&self) {
        self.stopping.cancelled().await;
        tokio::time::sleep(LAST_BODY_TIMEOUT).await;
    }
}

#[cfg(test)]
mod tests;
