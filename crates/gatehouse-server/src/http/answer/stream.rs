//! Answers that are produced while they go out: of any length, and never more than a few chunks in memory.
//!
//! A handler gives a [`Producer`], which writes into a [`Sink`] on a task of its own. It is held up when its
//! client reads slowly, and holds no slot and no transaction meanwhile; it ends when the client goes away.
//! When it fails, the connection breaks off before the body's end, so that nobody takes a part for the whole.

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

/// Bytes that are buffer into a chunk, before compression: each is handed to another thread, which costs as much as
/// making some of them.
pub(in crate::http) const CHUNK_BYTES: usize = 128 << 10;

/// What may come on top of a chunk before it is seen that it is one: an access with the longest of all names.
const CHUNK_BYTES_OVER: usize = 4 << 10;

/// Pieces that may wait for the client.
const CHUNKS_MAX: usize = 2;

/// How long a client may let a chunk wait before it takes any more. As long as for any other answer.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Makes the body of an answer.
pub(crate) type Producer = Box<dyn FnOnce(Sink) -> BodyFuture + Send>;

type BodyFuture = Pin<Box<dyn Future<Output = Result<Finished, StreamError>> + Send>>;

/// Says that a body is whole. Only [`Sink::finish`] gives it.
pub(crate) struct Finished(());

/// Why a body ended early.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StreamError {
    /// The client has gone away, or doesn't read.
    Unread,
    /// What it was produced of could not be had; the cause is for the log.
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

/// Where a producer writes.
pub(crate) struct Sink {
    chunks: Sender<Chunk>,
    /// What will be the next chunk.
    buffer: Json,
    /// Pieces that go out when there is time to wait.
    ready: Vec<Bytes>,
    gzip: Option<GzEncoder<Vec<u8>>>,
}

impl Sink {
    fn new(chunks: Sender<Chunk>, is_compressed: bool) -> Self {
        let gzip = is_compressed.then(|| GzEncoder::new(Vec::new(), Compression::fast()));
        Self { chunks, buffer: Json::default(), ready: Vec::new(), gzip }
    }

    /// Adds to the body; waits when the client is behind.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> Result<(), StreamError> {
        for part in bytes.chunks(CHUNK_BYTES) {
            self.buffer.bytes(part);
            self.send_ready().await?;
        }
        Ok(())
    }

    /// Where JSON is added that is written bit by bit. Who has added a little lets it be [cut](Self::cut), and who has
    /// added some chunks has them [passed on](Self::send_ready): until then nobody who reads slowly holds anything up.
    pub(crate) fn json(&mut self) -> &mut Json {
        if self.buffer.n_bytes() == 0 {
            // All that will come, so that it is never copied to where there is more room.
            self.buffer.reserve(CHUNK_BYTES + CHUNK_BYTES_OVER);
        }
        &mut self.buffer
    }

    /// Makes a chunk of what was written, if that is long enough. It goes out when it is [passed on](Self::send_ready).
    pub(crate) fn cut(&mut self) {
        if self.buffer.n_bytes() >= CHUNK_BYTES {
            self.close_chunk();
        }
    }

    /// Lets the client have all whole chunks; waits when the client is behind.
    pub(crate) async fn send_ready(&mut self) -> Result<(), StreamError> {
        self.cut();
        for chunk in std::mem::take(&mut self.ready) {
            self.send(Chunk::Data(chunk)).await?;
        }
        Ok(())
    }

    /// Adds bytes that are there for good. Where nothing is compressed they are not copied.
    pub(crate) async fn send_static(&mut self, bytes: &'static [u8]) -> Result<(), StreamError> {
        if self.gzip.is_some() {
            return self.write(bytes).await;
        }
        self.flush().await?;
        self.send(Chunk::Data(Bytes::from_static(bytes))).await
    }

    /// Lets the client have what was written so far: before waiting for something else, say.
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

    /// Ends the body.
    pub(crate) async fn finish(mut self) -> Result<Finished, StreamError> {
        self.flush().await?;
        if let Some(gzip) = self.gzip.take() {
            let rest: Bytes = gzip.finish().expect(INTO_MEMORY).into();
            self.send(Chunk::Data(rest)).await?;
        }
        self.send(Chunk::End).await?;
        Ok(Finished(()))
    }

    async fn send(&self, chunk: Chunk) -> Result<(), StreamError> {
        let sent = tokio::time::timeout(STALL_TIMEOUT, self.chunks.send(chunk)).await;
        sent.ok().and_then(Result::ok).ok_or(StreamError::Unread)
    }
}

const INTO_MEMORY: &str = "writing into memory doesn't fail";

/// Has a producer hold a slot for as long as it works.
pub(in crate::http) fn with_slot<P: Send + 'static>(producer: Producer, slot: P) -> Producer {
    Box::new(move |sink| {
        Box::pin(async move {
            let _slot = slot;
            producer(sink).await
        })
    })
}

/// A body, and what makes it, which has to be run beside.
pub(in crate::http) fn begin(
    producer: Producer,
    is_compressed: bool,
) -> (impl Future<Output = Result<Finished, StreamError>> + Send, AnswerBody) {
    let (sender, receiver) = channel(CHUNKS_MAX);
    (produce(producer, sender, is_compressed), AnswerBody::streamed(receiver))
}

/// Makes a body to its end, or until nobody wants it.
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
    /// How the making of a body ended, for the figures.
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
