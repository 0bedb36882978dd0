//! Streamed responses: of any length, with only a few chunks in memory.
//!
//! A handler returns a [`Producer`], which writes into a [`Sink`] on its own task. Back-pressure from a slow client
//! pauses it; meanwhile it holds no request slot and no transaction. It is cancelled when the client disconnects. When
//! it fails, the connection is closed before the body's end, so that no client takes a part for the whole.

use std::io::Write;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::FutureExt;
use tokio::sync::mpsc::{Sender, channel};

use super::answer_body::{AnswerBody, Chunk};
use super::error_chain::chain;
use super::json::Json;
use crate::app::Error;
use crate::metrics::StreamEnd;

/// Bytes of a chunk, before compression. Large, because passing a chunk to another thread has a cost.
pub(in crate::http) const CHUNK_BYTES: usize = 128 << 10;

/// Bytes by which a chunk may exceed its size before it is closed: an access with the longest names.
const CHUNK_BYTES_OVER: usize = 4 << 10;

/// Chunks that may be queued for the client.
const CHUNKS_MAX: usize = 2;

/// Time in which a client must read a queued chunk, as for any other response.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) type Producer = Box<dyn FnOnce(Sink) -> BodyFuture + Send>;

type BodyFuture = Pin<Box<dyn Future<Output = Result<Finished, StreamError>> + Send>>;

/// Proof that a body is whole. Only [`Sink::finish`] returns it.
pub(crate) struct Finished(());

/// Why a body ended early.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StreamError {
    /// The client has disconnected, or doesn't read.
    Unread,
    /// The producer failed; the cause is for the log.
    Failed(Box<str>),
}

impl From<Error> for StreamError {
    fn from(error: Error) -> Self {
        Self::Failed(match error {
            Error::Storage(error) => chain(&error),
            Error::Vault(error) => chain(&error),
            error => error.to_string().into_boxed_str(),
        })
    }
}

impl From<gatehouse_store::StoreError> for StreamError {
    fn from(error: gatehouse_store::StoreError) -> Self {
        Error::Storage(error).into()
    }
}

/// Receives the bytes of a producer.
pub(crate) struct Sink {
    chunks: Sender<Chunk>,
    buffer: Json,
    /// Closed chunks, to be sent by [`send_ready`](Self::send_ready).
    ready: Vec<Bytes>,
    gzip: Option<GzEncoder<Vec<u8>>>,
}

impl Sink {
    fn new(chunks: Sender<Chunk>, is_compressed: bool) -> Self {
        let gzip = is_compressed.then(|| GzEncoder::new(Vec::new(), Compression::fast()));
        Self { chunks, buffer: Json::default(), ready: Vec::new(), gzip }
    }

    /// Appends bytes; waits if the client is behind.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> Result<(), StreamError> {
        for part in bytes.chunks(CHUNK_BYTES) {
            self.buffer.bytes(part);
            self.send_ready().await?;
        }
        Ok(())
    }

    /// The buffer, for JSON in small steps. The producer calls [`cut`](Self::cut) after each step, and
    /// [`send_ready`](Self::send_ready) after some chunks: only that waits for the client.
    pub(crate) fn json(&mut self) -> &mut Json {
        if self.buffer.n_bytes() == 0 {
            // The whole chunk, so that the buffer is never copied to grow.
            self.buffer.reserve(CHUNK_BYTES + CHUNK_BYTES_OVER);
        }
        &mut self.buffer
    }

    /// Closes the chunk if it is long enough. [`send_ready`](Self::send_ready) sends it.
    pub(crate) fn cut(&mut self) {
        if self.buffer.n_bytes() >= CHUNK_BYTES {
            self.close_chunk();
        }
    }

    /// Sends all closed chunks; waits if the client is behind.
    pub(crate) async fn send_ready(&mut self) -> Result<(), StreamError> {
        self.cut();
        for chunk in std::mem::take(&mut self.ready) {
            self.send(Chunk::Data(chunk)).await?;
        }
        Ok(())
    }

    /// Appends static bytes, without a copy if the body isn't compressed.
    pub(crate) async fn send_static(&mut self, bytes: &'static [u8]) -> Result<(), StreamError> {
        if self.gzip.is_some() {
            return self.write(bytes).await;
        }
        self.flush().await?;
        self.send(Chunk::Data(Bytes::from_static(bytes))).await
    }

    /// Sends everything written so far, e.g. before a wait.
    pub(crate) async fn flush(&mut self) -> Result<(), StreamError> {
        self.close_chunk();
        self.send_ready().await
    }

    fn close_chunk(&mut self) {
        if self.buffer.n_bytes() == 0 {
            return;
        }
        self.ready.push(match &mut self.gzip {
            None => std::mem::take(&mut self.buffer).finish(),
            Some(gzip) => {
                let compressed = gzip.write_all(self.buffer.written()).and_then(|()| gzip.flush());
                compressed.expect(INTO_MEMORY);
                self.buffer.clear();
                std::mem::take(gzip.get_mut()).into()
            }
        });
    }

    pub(crate) async fn finish(mut self) -> Result<Finished, StreamError> {
        self.flush().await?;
        if let Some(gzip) = self.gzip.take() {
            let rest: Bytes = gzip.finish().expect(INTO_MEMORY).into();
            self.send(Chunk::Data(rest)).await?;
        }
        self.send(Chunk::End).await?;
        Ok(Finished(()))
    }

    /// Ends a body that isn't compressed with what has been sent, and discards the rest.
    pub(crate) async fn finish_early(self) -> Result<Finished, StreamError> {
        self.send(Chunk::End).await?;
        Ok(Finished(()))
    }

    async fn send(&self, chunk: Chunk) -> Result<(), StreamError> {
        let sent = tokio::time::timeout(STALL_TIMEOUT, self.chunks.send(chunk)).await;
        sent.ok().and_then(Result::ok).ok_or(StreamError::Unread)
    }
}

const INTO_MEMORY: &str = "writing into memory doesn't fail";

/// Makes a producer hold a slot until it ends.
pub(in crate::http) fn with_slot<P: Send + 'static>(producer: Producer, slot: P) -> Producer {
    Box::new(move |sink| {
        Box::pin(async move {
            let _slot = slot;
            producer(sink).await
        })
    })
}

/// A body, and the future that produces it, which the caller runs on a task.
pub(in crate::http) fn begin(
    producer: Producer,
    is_compressed: bool,
) -> (impl Future<Output = Result<Finished, StreamError>> + Send, AnswerBody) {
    let (sender, receiver) = channel(CHUNKS_MAX);
    (produce(producer, sender, is_compressed), AnswerBody::streamed(receiver))
}

/// Runs a producer to its end, or until the client disconnects.
async fn produce(
    producer: Producer,
    chunks: Sender<Chunk>,
    is_compressed: bool,
) -> Result<Finished, StreamError> {
    let produced = producer(Sink::new(chunks.clone(), is_compressed));
    let produced = AssertUnwindSafe(produced).catch_unwind();
    tokio::select! {
        produced = produced => produced.unwrap_or_else(|_| Err(StreamError::Failed("it panicked".into()))),
        () = chunks.closed() => Err(StreamError::Unread),
    }
}

impl StreamEnd {
    /// The end of a stream, for the metrics.
    pub(in crate::http) fn of(produced: &Result<Finished, StreamError>) -> Self {
        match produced {
            Ok(_) => Self::Whole,
            Err(StreamError::Unread) => Self::Unread,
            Err(StreamError::Failed(_)) => Self::Failed,
        }
    }
}

#[cfg(test)]
mod tests;
